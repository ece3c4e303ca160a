//! Our own form of a report, for services that have no adapter: one JSON object a mail, signed as Standard Webhooks has it.
//! What is wrong with it is said field by field, because whoever sends it was written for us.

use chrono::{DateTime, TimeDelta, Utc};
use hyper::HeaderMap;
use serde::Deserialize;

use crate::app_mail::adapters::report::{Kind, Read, Report, header};
use crate::app_mail::fields::{self, LONGEST_SUBJECT, MOST_RECIPIENTS};
use crate::app_mail::reference;
use crate::error::{Error, Problem, Result};
use crate::secrets::signed_requests::Signature;
use crate::text;

/// A reported mail.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    message_id: String,
    to: Vec<String>,
    subject: String,
    sent_at: DateTime<Utc>,
    reference: Option<String>,
}

pub fn signature(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Signature<'_>> {
    let seconds = header(headers, "webhook-timestamp")?.parse().ok()?;
    Signature::read(header(headers, "webhook-id")?, seconds, header(headers, "webhook-signature")?, now)
}

pub fn read(keys: &[Vec<u8>], headers: &HeaderMap, body: &[u8], now: DateTime<Utc>) -> Result<Option<Read>> {
    let Some(signature) = signature(headers, now) else { return Ok(None) };
    if !keys.iter().any(|key| signature.is_by_key(key, body)) {
        return Ok(None);
    }
    let told = told(body, now)?;
    Ok(Some(Read { reports: vec![told], ..Read::default() }))
}

fn told(body: &[u8], now: DateTime<Utc>) -> Result<Report> {
    let told: Told = serde_json::from_slice(body).map_err(|_| {
        Error::problem("request body", "must be a JSON object with messageId, to, subject and sentAt")
    })?;
    let message_id = fields::message_id(&told.message_id);
    let to: Option<Vec<String>> = told.to.iter().map(|text| fields::recipient(text)).collect();
    let to = to.filter(|to| (1..=MOST_RECIPIENTS).contains(&to.len()));
    let reference = told.reference.as_deref().map(reference::of);
    let could_be = DateTime::UNIX_EPOCH..=now + TimeDelta::days(1);
    let checks = [
        ("messageId", message_id.is_some(), fields::NOT_AN_ID),
        ("to", to.is_some(), "must be 1 to 50 mail addresses"),
        ("subject", told.subject.chars().count() <= LONGEST_SUBJECT, "must be at most 998 characters"),
        ("sentAt", could_be.contains(&told.sent_at), "must be a time that has come"),
        ("reference", reference != Some(None), reference::NOT_ONE),
    ];
    let wrong = checks.into_iter().filter(|(_, sound, _)| !sound);
    let problems: Vec<Problem> =
        wrong.map(|(field, _, what)| Problem { field: field.into(), what: what.into() }).collect();
    let (Some(message_id), Some(to), true) = (message_id, to, problems.is_empty()) else {
        return Err(Error::Problems(problems));
    };
    Ok(Report {
        key: String::new(),
        once: None,
        kind: Kind::Sent,
        message_id: Some(message_id),
        service_ref: None,
        to: fields::each_once(to),
        subject: text::line(&told.subject),
        at: Some(told.sent_at),
        reference: reference.flatten(),
    })
}
