//! Postmark's webhooks: one JSON object a request, told apart by `RecordType`. Postmark does not sign; it sends a name and a
//! password (HTTP basic authentication), and ours is made of 32 random bytes.
//!
//! A mail is `<MessageID@mtasv.net>`, unless the app keeps its own Message-ID (`X-PM-KeepID`) and gives it as metadata.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use hyper::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use crate::app_mail::adapters::report::{FoundReport, One, ReadReports, ReportKind, header, is_same};

/// The name that Postmark signs in with.
pub const USER: &str = "rookery";
/// The domain of the Message-IDs that Postmark gives.
const DOMAIN: &str = "mtasv.net";
/// Where an app that keeps its own Message-ID writes it down.
const METADATA: &str = "message-id";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    record_type: String,
    #[serde(rename = "ID")]
    id: Option<u64>,
    #[serde(rename = "MessageID")]
    message_id: Option<String>,
    recipient: Option<String>,
    email: Option<String>,
    subject: Option<String>,
    #[serde(rename = "Type")]
    kind: Option<String>,
    delivered_at: Option<DateTime<Utc>>,
    bounced_at: Option<DateTime<Utc>>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, Value>>,
}

/// The secret as Postmark is given it.
pub fn password(secret: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(secret)
}

pub fn is_signed(keys: &[Vec<u8>], headers: &HeaderMap) -> bool {
    let given = header(headers, "authorization").and_then(|given| given.split_once(' '));
    let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let Some(given) = given.and_then(|(_, given)| STANDARD.decode(given.trim()).ok()) else { return false };
    let right = |key: &Vec<u8>| format!("{USER}:{}", password(key));
    // Every key is compared, whichever is the right one.
    keys.iter().filter(|key| is_same(right(key).as_bytes(), &given)).count() > 0
}

pub fn read(keys: &[Vec<u8>], headers: &HeaderMap, body: &[u8], now: DateTime<Utc>) -> Option<ReadReports> {
    is_signed(keys, headers).then(|| ReadReports::from_result(one(body, now)))
}

fn one(body: &[u8], now: DateTime<Utc>) -> One {
    let record: Record =
        serde_json::from_slice(body).map_err(|_| "It is no JSON object with a RecordType.")?;
    let kind = match (record.record_type.as_str(), record.kind.as_deref()) {
        ("Delivery", _) => ReportKind::Delivered,
        ("SpamComplaint", _) | ("Bounce", Some("SpamComplaint")) => ReportKind::Complained,
        ("Bounce", Some("HardBounce" | "BadEmailAddress")) => ReportKind::Bounced,
        ("Bounce", _) => ReportKind::Failed,
        _ => return Ok(None),
    };
    let id = record.message_id.as_deref().ok_or("It has no MessageID.")?;
    let metadata = record.metadata.as_ref().and_then(|all| {
        all.iter().find(|(name, _)| name.eq_ignore_ascii_case(METADATA)).and_then(|(_, value)| value.as_str())
    });
    let given = format!("{id}@{DOMAIN}");
    let address = record.recipient.or(record.email);
    let at = record.delivered_at.or(record.bounced_at);
    // A delivery has no id of its own.
    let key = match record.id {
        Some(number) => format!("{} {number}", record.record_type),
        None => format!("{} {id} {address:?} {at:?}", record.record_type),
    };
    FoundReport {
        key,
        kind,
        message_id: Some(metadata.unwrap_or(&given)),
        service_ref: Some(id),
        to: address.as_deref().into_iter().collect(),
        subject: record.subject.as_deref(),
        at,
    }
    .checked(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn headers(user: &str, key: &[u8]) -> HeaderMap {
        let given = STANDARD.encode(format!("{user}:{}", password(key)));
        HeaderMap::from_iter([("authorization".parse().unwrap(), format!("Basic {given}").parse().unwrap())])
    }

    fn read_one(body: &str) -> ReadReports {
        let now = "2031-01-06T12:00:00Z".parse().unwrap();
        read(&[KEY.to_vec()], &headers(USER, &KEY), body.as_bytes(), now).expect("it is signed")
    }

    #[test]
    fn deliveries_bounces_and_complaints_of_the_documentation_are_read() {
        let delivered = read_one(include_str!("../../../../../tests/sending/postmark-delivery.json"));
        let report = &delivered.reports[0];
        assert_eq!(report.kind, ReportKind::Delivered);
        assert_eq!(report.message_id.as_deref(), Some("883953f4-6105-42a2-a16a-77a8eac79483@mtasv.net"));
        assert_eq!(report.to, ["anna@customer.example"]);
        let bounced = read_one(include_str!("../../../../../tests/sending/postmark-bounce.json"));
        assert_eq!(
            (bounced.reports[0].kind, bounced.reports[0].subject.as_str()),
            (ReportKind::Bounced, "Your order")
        );
        assert_eq!(bounced.reports[0].key, "Bounce 692560173");
        let complained = read_one(include_str!("../../../../../tests/sending/postmark-complaint.json"));
        assert_eq!(complained.reports[0].kind, ReportKind::Complained);
        let kept = include_str!("../../../../../tests/sending/postmark-delivery.json")
            .replace("\"a_key\"", "\"Message-Id\"")
            .replace("a_value", "<order-1@shop.example>");
        assert_eq!(read_one(&kept).reports[0].message_id.as_deref(), Some("order-1@shop.example"));
        let soft = include_str!("../../../../../tests/sending/postmark-bounce.json")
            .replace("HardBounce", "SoftBounce");
        assert_eq!(read_one(&soft).reports[0].kind, ReportKind::Failed);
    }

    #[test]
    fn what_is_not_followed_or_cannot_be_read_is_counted() {
        assert_eq!(read_one(r#"{"RecordType":"Open"}"#).passed_over, 1);
        for body in
            ["", "[]", "{}", r#"{"RecordType":"Bounce"}"#, r#"{"RecordType":"Delivery","MessageID":"a b"}"#]
        {
            assert_eq!(read_one(body).unread.len(), 1, "{body}");
        }
    }

    #[test]
    fn only_the_password_opens() {
        let now = "2031-01-06T12:00:00Z".parse().unwrap();
        for headers in [HeaderMap::new(), headers("other", &KEY), headers(USER, &[8; 32]), headers(USER, b"")]
        {
            assert_eq!(read(&[KEY.to_vec()], &headers, b"{}", now), None);
        }
        assert_eq!(read(&[], &headers(USER, &KEY), b"{}", now), None);
        assert!(read(&[vec![1; 32], KEY.to_vec()], &headers(USER, &KEY), b"{}", now).is_some());
    }
}
