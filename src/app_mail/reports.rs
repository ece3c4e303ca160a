//! Accepts a connected service's report of a sent mail: its Message-ID, recipients and time (D191). A signed
//! report is trusted and stored as if the app had recorded it; repeating it is harmless. A body in it is ignored.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use crate::app::App;
use crate::app_mail::connect::secret_of;
use crate::app_mail::fields::{self, LONGEST_SUBJECT, MOST_RECIPIENTS};
use crate::app_mail::reference;
use crate::app_mail::sent::{SentMail, upsert};
use crate::error::{Error, Problem, Result};
use crate::ids::{SendingServiceId, WorkspaceId};
use crate::limits::rate::{self, RateKey};
use crate::secrets::signed_requests::Secret;
use crate::store::db::{Handle, Tx};
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

/// The secret that a service signs with; none when it is not connected.
pub async fn signing_secret(
    app: &App,
    workspace: WorkspaceId,
    service: SendingServiceId,
) -> Result<Option<Secret>> {
    let key = app.config.needs_secret_key()?;
    secret_of(&mut *app.connection().await?, key, workspace, service).await
}

/// Stores a report whose signature was verified. True when the mail was not on record before.
pub async fn accept(
    app: &App,
    workspace: WorkspaceId,
    service: SendingServiceId,
    body: &[u8],
) -> Result<bool> {
    let now = app.clock.now();
    let mut conn = app.connection().await?;
    let limit = app.config.told_mail_limit();
    let subject = RateKey::ToldMail(workspace, service);
    if let Err(retry_after) = app.rate.take(&mut conn, subject, limit, now).await? {
        return Err(rate::slow_down(limit, retry_after));
    }
    let told = read(body, service, now)?;
    let mut tx = Tx::begin(conn, app.frame(workspace)).await?;
    // Services carry real mail, so their records are live.
    let first = upsert(&mut tx, true, &told, app.config.app_mail_retention()).await?;
    tx.commit().await?;
    Ok(first)
}

fn read(body: &[u8], service: SendingServiceId, now: DateTime<Utc>) -> Result<SentMail> {
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
    Ok(SentMail {
        message_id,
        reference: reference.flatten(),
        to: fields::each_once(to),
        subject: text::line(&told.subject),
        text: None,
        html: None,
        sent_at: Some(told.sent_at),
        service: Some(service),
    })
}
