//! Our own form of a report, for services that have no adapter: one JSON object a mail, signed as Standard Webhooks has it.
//! What is wrong with it is said field by field, because whoever sends it was written for us.

use chrono::{DateTime, TimeDelta, Utc};
use hyper::HeaderMap;
use serde::Deserialize;

use crate::app_mail::adapters::report::{ReadReports, ReportKind, ServiceReport, header};
use crate::app_mail::fields::{self, LONGEST_SUBJECT, MOST_RECIPIENTS};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::secrets::signed_requests::Signature;
use rookery_reading::mail::plus_tag;
use rookery_reading::text;

/// A reported mail.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportedMail {
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

pub fn read(
    keys: &[Vec<u8>],
    headers: &HeaderMap,
    body: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<ReadReports>> {
    let Some(signature) = signature(headers, now) else { return Ok(None) };
    if !keys.iter().any(|key| signature.is_by_key(key, body)) {
        return Ok(None);
    }
    let told = parse_report(body, now)?;
    Ok(Some(ReadReports { reports: vec![told], ..ReadReports::default() }))
}

fn parse_report(body: &[u8], now: DateTime<Utc>) -> Result<ServiceReport> {
    let told: ReportedMail = serde_json::from_slice(body).map_err(|_| {
        Error::problem("request body", "must be a JSON object with messageId, to, subject and sentAt")
    })?;
    let message_id = fields::message_id(&told.message_id);
    let to: Option<Vec<String>> = told.to.iter().map(|text| fields::recipient(text)).collect();
    let to = to.filter(|to| (1..=MOST_RECIPIENTS).contains(&to.len()));
    let reference = told.reference.as_deref().map(plus_tag::parse);
    let could_be = DateTime::UNIX_EPOCH..=now + TimeDelta::days(1);
    let checks = [
        ("messageId", message_id.is_some(), fields::NOT_AN_ID),
        ("to", to.is_some(), "must be 1 to 50 mail addresses"),
        ("subject", told.subject.chars().count() <= LONGEST_SUBJECT, "must be at most 998 characters"),
        ("sentAt", could_be.contains(&told.sent_at), "must be a time that has come"),
        ("reference", reference != Some(None), plus_tag::NOT_ONE),
    ];
    let wrong = checks.into_iter().filter(|(_, sound, _)| !sound);
    let problems: Vec<Problem> =
        wrong.map(|(field, _, what)| Problem { field: field.into(), what: what.into() }).collect();
    let (Some(message_id), Some(to), true) = (message_id, to, problems.is_empty()) else {
        return Err(Error::Problems(problems));
    };
    Ok(ServiceReport {
        key: String::new(),
        once: None,
        kind: ReportKind::Sent,
        message_id: Some(message_id),
        service_ref: None,
        to: fields::each_once(to),
        subject: text::line(&told.subject),
        at: Some(told.sent_at),
        reference: reference.flatten(),
    })
}
