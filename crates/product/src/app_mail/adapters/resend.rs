//! Resend's webhooks: one JSON object a request, signed by Svix, which is what Standard Webhooks came from: the same
//! signature under other names of headers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hyper::HeaderMap;
use serde::Deserialize;

use crate::app_mail::adapters::report::{FoundReport, One, ReadReports, ReportKind, header};
use rookery_base::secrets::signed_requests::Signature;

#[derive(Deserialize)]
struct ResendCall {
    #[serde(rename = "type")]
    kind: String,
    created_at: Option<DateTime<Utc>>,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    email_id: Option<String>,
    message_id: Option<String>,
    #[serde(default)]
    to: Vec<String>,
    subject: Option<String>,
    bounce: Option<Bounce>,
}

#[derive(Deserialize)]
struct Bounce {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(rename = "subType")]
    sub: Option<String>,
}

/// The bytes of a signing secret.
pub fn key(given: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(given.strip_prefix("whsec_")?).ok()?;
    (16..=128).contains(&bytes.len()).then_some(bytes)
}

pub fn signature(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Signature<'_>> {
    let seconds = header(headers, "svix-timestamp")?.parse().ok()?;
    Signature::read(header(headers, "svix-id")?, seconds, header(headers, "svix-signature")?, now)
}

pub fn read(keys: &[Vec<u8>], headers: &HeaderMap, body: &[u8], now: DateTime<Utc>) -> Option<ReadReports> {
    let signature = signature(headers, now)?;
    let id = header(headers, "svix-id")?;
    let signed = keys.iter().any(|key| signature.is_by_key(key, body));
    signed.then(|| ReadReports::from_result(one(id, body, now)))
}

fn one(id: &str, body: &[u8], now: DateTime<Utc>) -> One {
    let told: ResendCall =
        serde_json::from_slice(body).map_err(|_| "It is no JSON object with type and data.")?;
    let (Some(data), kind) = (told.data, told.kind.as_str()) else { return Err("It has no data.") };
    let bounce = data.bounce.as_ref();
    let gone = bounce.is_some_and(|bounce| {
        let sub = bounce.sub.as_deref().unwrap_or("General");
        bounce.kind.as_deref() == Some("Permanent") && matches!(sub, "General" | "NoEmail")
    });
    let kind = match kind {
        "email.sent" => ReportKind::Sent,
        "email.delivered" => ReportKind::Delivered,
        "email.bounced" if gone => ReportKind::Bounced,
        "email.bounced" | "email.failed" => ReportKind::Failed,
        "email.complained" => ReportKind::Complained,
        _ => return Ok(None),
    };
    FoundReport {
        key: id.to_owned(),
        kind,
        message_id: data.message_id.as_deref(),
        service_ref: data.email_id.as_deref(),
        to: data.to.iter().map(String::as_str).collect(),
        subject: data.subject.as_deref(),
        at: told.created_at,
    }
    .checked(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_base::secrets::hashes::hmac;

    const KEY: &[u8] = b"twenty-four bytes of key";

    fn signed(id: &str, seconds: i64, body: &str) -> HeaderMap {
        let mac = hmac(KEY, &[format!("{id}.{seconds}.").as_bytes(), body.as_bytes()]);
        let pairs = [
            ("svix-id", id.to_owned()),
            ("svix-timestamp", seconds.to_string()),
            ("svix-signature", { format!("v1,{}", STANDARD.encode(mac.as_ref())) }),
        ];
        pairs.into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn now() -> DateTime<Utc> {
        "2031-01-06T12:00:00Z".parse().unwrap()
    }

    fn read_one(body: &str) -> ReadReports {
        read(&[KEY.to_vec()], &signed("msg_1", now().timestamp(), body), body.as_bytes(), now())
            .expect("it is signed")
    }

    /// The example of Svix' documentation.
    #[test]
    fn the_signature_is_that_of_svix() {
        let key = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let headers = [
            ("svix-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("svix-timestamp", "1614265330"),
            ("svix-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,bm90IGEgc2lnbmF0dXJl"),
        ];
        let headers: HeaderMap = headers
            .into_iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let then = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        let read = |key: &[u8], body: &[u8], now| read(&[key.to_vec()], &headers, body, now);
        let body = br#"{"test": 2432232314}"#;
        assert!(read(&key, body, then).is_some());
        assert_eq!(read(&key, br#"{"test": 2432232315}"#, then), None);
        assert_eq!(read(&key[1..], body, then), None);
        assert_eq!(read(&key, body, then + chrono::TimeDelta::minutes(6)), None);
    }

    #[test]
    fn what_the_documentation_shows_is_read() {
        let sent = read_one(include_str!("../../../../../tests/sending/resend-sent.json"));
        let report = &sent.reports[0];
        assert_eq!((report.kind, report.key.as_str()), (ReportKind::Sent, "msg_1"));
        assert_eq!(report.message_id.as_deref(), Some("111-222-333@shop.example"));
        assert_eq!(report.service_ref.as_deref(), Some("56761188-7520-42d8-8898-ff6fc54ce618"));
        assert_eq!(
            (report.to.as_slice(), report.subject.as_str()),
            (&["anna@customer.example".to_owned()][..], "Your order")
        );
        let bounced = include_str!("../../../../../tests/sending/resend-bounced.json");
        assert_eq!(read_one(bounced).reports[0].kind, ReportKind::Bounced);
        // An address that Resend itself does not write to may exist.
        assert_eq!(read_one(&bounced.replace("General", "Suppressed")).reports[0].kind, ReportKind::Failed);
        assert_eq!(read_one(&bounced.replace("Permanent", "Transient")).reports[0].kind, ReportKind::Failed);
        assert_eq!(
            read_one(&bounced.replace("email.bounced", "email.complained")).reports[0].kind,
            ReportKind::Complained
        );
        assert_eq!(read_one(&bounced.replace("email.bounced", "email.opened")).passed_over, 1);
        assert_eq!(read_one(r#"{"type":"email.sent","data":{"to":[]}}"#).unread, ["It has no Message-ID."]);
        assert_eq!(read_one("nonsense").unread.len(), 1);
    }
}
