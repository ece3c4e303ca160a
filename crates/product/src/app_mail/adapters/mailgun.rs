//! Mailgun's webhooks: one JSON object a request. Its signature stands inside and covers only a time and a token, not the
//! event, so a token is good for one event: whoever overheard one cannot say anything else with it.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use crate::app_mail::adapters::report::{
    FoundReport, One, ReadReports, ReportKind, is_fresh, is_gone, is_same,
};
use rookery_base::secrets::hashes::{from_hex, hmac};

const LONGEST_TOKEN: usize = 100;

#[derive(Deserialize)]
struct MailgunCall<'a> {
    signature: Option<Signature>,
    #[serde(rename = "event-data", borrow)]
    event: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Signature {
    /// A number, mostly written as text.
    timestamp: Value,
    token: String,
    signature: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Event {
    event: String,
    id: Option<String>,
    timestamp: Option<f64>,
    recipient: Option<String>,
    severity: Option<String>,
    reason: Option<String>,
    message: Option<Message>,
    delivery_status: Option<Status>,
}

#[derive(Deserialize)]
struct Message {
    headers: Option<Headers>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Headers {
    message_id: Option<String>,
    subject: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Status {
    enhanced_code: Option<String>,
}

pub fn read(keys: &[Vec<u8>], body: &[u8], now: DateTime<Utc>) -> Option<ReadReports> {
    let told: MailgunCall = serde_json::from_slice(body).ok()?;
    let signature = told.signature?;
    let seconds = match &signature.timestamp {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let given = from_hex(&signature.signature)?;
    let signed = |key: &&Vec<u8>| {
        is_same(hmac(key, &[seconds.as_bytes(), signature.token.as_bytes()]).as_ref(), &given)
    };
    let sound = (1..=LONGEST_TOKEN).contains(&signature.token.len())
        && seconds.parse().is_ok_and(|seconds| is_fresh(seconds, now))
        && keys.iter().filter(signed).count() > 0;
    if !sound {
        return None;
    }
    let mut read =
        ReadReports::from_result(one(told.event.map(|event| event.get()).unwrap_or_default(), now));
    for report in &mut read.reports {
        report.once = Some(format!("token {}", signature.token));
    }
    Some(read)
}

fn one(event: &str, now: DateTime<Utc>) -> One {
    let event: Event = serde_json::from_str(event).map_err(|_| "It has no event-data that can be read.")?;
    let status = event.delivery_status.as_ref().and_then(|status| status.enhanced_code.as_deref());
    let permanent = event.severity.as_deref() == Some("permanent");
    let bounced = permanent && event.reason.as_deref() == Some("bounce") && is_gone(status);
    let kind = match event.event.as_str() {
        "accepted" => ReportKind::Sent,
        "delivered" => ReportKind::Delivered,
        "failed" if bounced => ReportKind::Bounced,
        "failed" => ReportKind::Failed,
        "complained" => ReportKind::Complained,
        _ => return Ok(None),
    };
    let headers = event.message.and_then(|message| message.headers);
    let headers = headers.ok_or("It does not say which mail it is about.")?;
    let millis =
        event.timestamp.filter(|seconds| seconds.is_finite()).map(|seconds| (seconds * 1000.0) as i64);
    FoundReport {
        key: event.id.ok_or("It has no id.")?,
        kind,
        message_id: headers.message_id.as_deref(),
        service_ref: None,
        to: event.recipient.as_deref().into_iter().collect(),
        subject: headers.subject.as_deref(),
        at: millis.and_then(DateTime::from_timestamp_millis),
    }
    .checked(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"key-of-the-account";

    fn now() -> DateTime<Utc> {
        "2031-01-06T12:00:00Z".parse().unwrap()
    }

    /// As Mailgun signs: over time and token.
    fn signed(event: &str, seconds: i64, token: &str) -> String {
        let mac = hmac(KEY, &[seconds.to_string().as_bytes(), token.as_bytes()]);
        let hex: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            r#"{{"signature":{{"timestamp":"{seconds}","token":"{token}","signature":"{hex}"}},"event-data":{event}}}"#
        )
    }

    fn read_one(event: &str) -> ReadReports {
        read(&[KEY.to_vec()], signed(event, now().timestamp(), "t1").as_bytes(), now()).expect("it is signed")
    }

    #[test]
    fn what_the_documentation_shows_is_read() {
        let delivered = include_str!("../../../../../tests/sending/mailgun-delivered.json");
        let report = &read_one(delivered).reports[0];
        assert_eq!((report.kind, report.key.as_str()), (ReportKind::Delivered, "MXcc2gEpS-eN8HfkOnmK2w"));
        assert_eq!(report.once.as_deref(), Some("token t1"));
        assert_eq!(report.message_id.as_deref(), Some("20260203192030.3ca5ff0e3b8d2e9a@shop.example"));
        assert_eq!((report.to[0].as_str(), report.subject.as_str()), ("anna@customer.example", "Your order"));
        assert_eq!(report.at.unwrap().timestamp(), 1_770_146_431);
        assert_eq!(
            read_one(&delivered.replace("\"delivered\"", "\"accepted\"")).reports[0].kind,
            ReportKind::Sent
        );
        let failed = include_str!("../../../../../tests/sending/mailgun-failed.json");
        assert_eq!(read_one(failed).reports[0].kind, ReportKind::Bounced);
        for (word, other) in
            [("permanent", "temporary"), ("5.1.1", "5.7.1"), ("\"bounce\"", "\"suppress-bounce\"")]
        {
            assert_eq!(read_one(&failed.replace(word, other)).reports[0].kind, ReportKind::Failed, "{other}");
        }
        assert_eq!(
            read_one(&failed.replace("\"failed\"", "\"complained\"")).reports[0].kind,
            ReportKind::Complained
        );
        assert_eq!(read_one(&failed.replace("\"failed\"", "\"opened\"")).passed_over, 1);
        for event in [
            "{}",
            "[]",
            r#"{"event":"delivered"}"#,
            r#"{"event":"delivered","id":"x","message":{"headers":{}}}"#,
        ] {
            assert_eq!(read_one(event).unread.len(), 1, "{event}");
        }
    }

    #[test]
    fn only_a_fresh_signature_of_the_key_is_believed() {
        let seconds = now().timestamp();
        let good = signed("{}", seconds, "t1");
        assert!(read(&[b"old".to_vec(), KEY.to_vec()], good.as_bytes(), now()).is_some());
        assert_eq!(read(&[b"other".to_vec()], good.as_bytes(), now()), None);
        for wrong in [
            good.replace("t1", "t2"),
            good.replace(&seconds.to_string(), &(seconds + 1).to_string()),
            signed("{}", seconds - 86_401, "t1"),
            signed("{}", seconds + 301, "t1"),
            signed("{}", seconds, &"t".repeat(101)),
            "{}".to_owned(),
            "nonsense".to_owned(),
        ] {
            assert_eq!(read(&[KEY.to_vec()], wrong.as_bytes(), now()), None, "{wrong}");
        }
    }
}
