//! SendGrid's Event Webhook: an array of events a request, signed with ECDSA over P-256. The key that somebody brings here
//! is the public one.
//!
//! Events carry no subject. `smtp-id` is the Message-ID; later events may lack it, and are known by `sg_message_id`.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hyper::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::app_mail::adapters::report::{
    FoundReport, MOST_REPORTS, One, ReadReports, ReportKind, header, is_fresh, is_gone,
};

/// What stands in front of the point in the DER form of every key of this curve.
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
];
const POINT: usize = 64;

#[derive(Deserialize)]
struct Event {
    event: String,
    email: Option<String>,
    timestamp: Option<i64>,
    #[serde(rename = "smtp-id")]
    smtp_id: Option<String>,
    sg_event_id: Option<String>,
    sg_message_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<String>,
    bounce_classification: Option<String>,
}

/// The bytes of a public key, with or without the lines of PEM.
pub fn key(given: &str) -> Option<Vec<u8>> {
    let lines = given.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
    let der = STANDARD.decode(lines.collect::<String>()).ok()?;
    (der.starts_with(P256) && der.len() == P256.len() + POINT).then_some(der)
}

/// The time as it was signed, and the signature.
pub fn signature(headers: &HeaderMap, now: DateTime<Utc>) -> Option<(&str, Vec<u8>)> {
    let seconds = header(headers, "x-twilio-email-event-webhook-timestamp")?;
    let signature = STANDARD.decode(header(headers, "x-twilio-email-event-webhook-signature")?).ok()?;
    let fresh = seconds.parse().is_ok_and(|seconds| is_fresh(seconds, now));
    fresh.then_some((seconds, signature))
}

pub fn read(keys: &[Vec<u8>], headers: &HeaderMap, body: &[u8], now: DateTime<Utc>) -> Option<ReadReports> {
    let (seconds, signature) = signature(headers, now)?;
    let message = [seconds.as_bytes(), body].concat();
    let is_by = |key: &Vec<u8>| {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key).verify(&message, &signature).is_ok()
    };
    if !keys.iter().any(is_by) {
        return None;
    }
    let events: Vec<&RawValue> = match serde_json::from_slice(body) {
        Ok(events) => events,
        Err(_) => return Some(ReadReports::from_result(Err("It is no JSON array of events."))),
    };
    let mut read = ReadReports::default();
    for (number, event) in events.iter().enumerate() {
        read.add(if number < MOST_REPORTS {
            one(event.get(), now)
        } else {
            Err("It holds more than 2000 events.")
        });
    }
    Some(read)
}

fn one(event: &str, now: DateTime<Utc>) -> One {
    let event: Event = serde_json::from_str(event).map_err(|_| "An event cannot be read.")?;
    let status = event.status.as_deref();
    let gone = match event.bounce_classification.as_deref() {
        Some(class) => class == "Invalid Address" || status.is_some_and(|status| is_gone(Some(status))),
        // SendGrid writes 5.0.0 where the server said nothing more.
        None => is_gone(status.filter(|status| *status != "5.0.0")),
    };
    let kind = match (event.event.as_str(), event.kind.as_deref()) {
        ("processed", _) => ReportKind::Sent,
        ("delivered", _) => ReportKind::Delivered,
        ("bounce", Some("bounce") | None) if gone => ReportKind::Bounced,
        ("bounce" | "dropped" | "deferred", _) => ReportKind::Failed,
        ("spamreport", _) => ReportKind::Complained,
        _ => return Ok(None),
    };
    // The first part is the same for all recipients and all events of a mail.
    let mail = event.sg_message_id.as_deref().and_then(|id| id.split('.').next());
    FoundReport {
        key: event.sg_event_id.ok_or("An event has no sg_event_id.")?,
        kind,
        message_id: event.smtp_id.as_deref(),
        service_ref: mail,
        to: event.email.as_deref().into_iter().collect(),
        subject: None,
        at: event.timestamp.and_then(|seconds| DateTime::from_timestamp(seconds, 0)),
    }
    .checked(now)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

    use super::*;

    struct Signer(EcdsaKeyPair);

    impl Signer {
        fn new() -> Self {
            Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap())
        }

        /// As SendGrid shows it.
        fn key(&self) -> Vec<u8> {
            let der = [&P256[..P256.len() - 1], self.0.public_key().as_ref()].concat();
            key(&STANDARD.encode(der)).expect("a key of the form")
        }

        fn headers(&self, seconds: &str, body: &str) -> HeaderMap {
            let message = [seconds, body].concat();
            let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
            let pairs = [
                ("x-twilio-email-event-webhook-timestamp", seconds.to_owned()),
                ("x-twilio-email-event-webhook-signature", STANDARD.encode(signature)),
            ];
            pairs.into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
        }
    }

    fn now() -> DateTime<Utc> {
        "2031-01-06T12:00:00Z".parse().unwrap()
    }

    fn read_all(body: &str) -> ReadReports {
        let signer = Signer::new();
        let seconds = now().timestamp().to_string();
        read(&[signer.key()], &signer.headers(&seconds, body), body.as_bytes(), now()).expect("it is signed")
    }

    #[test]
    fn what_the_documentation_shows_is_read_and_one_bad_event_takes_no_other_with_it() {
        let read = read_all(include_str!("../../../../../tests/sending/sendgrid-events.json"));
        let kinds: Vec<_> = read.reports.iter().map(|report| report.kind).collect();
        assert_eq!(
            kinds,
            [
                ReportKind::Sent,
                ReportKind::Failed,
                ReportKind::Delivered,
                ReportKind::Bounced,
                ReportKind::Failed,
                ReportKind::Failed,
                ReportKind::Complained
            ]
        );
        assert_eq!((read.passed_over, read.unread.len()), (2, 0), "opened and clicked");
        let sent = &read.reports[0];
        assert_eq!(sent.message_id.as_deref(), Some("14c5d75ce93.dfd.64b469@ismtpd-555"));
        assert_eq!(sent.service_ref.as_deref(), Some("14c5d75ce93"));
        let complained = read.reports.last().unwrap();
        assert_eq!((&complained.message_id, &complained.service_ref), (&None, &sent.service_ref));
        let mixed = r#"[{"event":"delivered"}, 7, {"event":"delivered","sg_event_id":"e","smtp-id":"<a@b>","email":"a@b.example"}]"#;
        let read = read_all(mixed);
        assert_eq!((read.reports.len(), read.unread.len()), (1, 2));
        assert_eq!(read_all("{}").unread.len(), 1);
        let many = format!("[{}]", vec![r#"{"event":"open"}"#; MOST_REPORTS + 3].join(","));
        assert_eq!((read_all(&many).passed_over, read_all(&many).unread.len()), (MOST_REPORTS, 3));
    }

    /// The example of SendGrid's own library.
    #[test]
    fn a_signature_of_sendgrid_is_known() {
        let key = key(
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
        )
        .unwrap();
        let signature = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=";
        let seconds = "1600112502";
        let body = "[{\"email\":\"hello@world.com\",\"event\":\"dropped\",\"reason\":\"Bounced Address\",\"sg_event_id\":\"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA\",\"sg_message_id\":\"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0\",\"smtp-id\":\"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>\",\"timestamp\":1600112492}]\r\n";
        let message = [seconds.as_bytes(), body.as_bytes()].concat();
        let signature = STANDARD.decode(signature).unwrap();
        let verified = |message: &[u8]| {
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &key).verify(message, &signature).is_ok()
        };
        assert!(verified(&message));
        assert!(!verified(&message[1..]));
    }

    #[test]
    fn only_a_fresh_signature_of_the_key_is_believed() {
        let (signer, other) = (Signer::new(), Signer::new());
        let seconds = now().timestamp().to_string();
        let headers = signer.headers(&seconds, "[]");
        assert!(read(&[other.key(), signer.key()], &headers, b"[]", now()).is_some());
        assert_eq!(read(&[other.key()], &headers, b"[]", now()), None);
        assert_eq!(read(&[signer.key()], &headers, b"[ ]", now()), None);
        assert_eq!(read(&[signer.key()], &HeaderMap::new(), b"[]", now()), None);
        let old = (now().timestamp() - 86_401).to_string();
        assert_eq!(read(&[signer.key()], &signer.headers(&old, "[]"), b"[]", now()), None);
    }
}
