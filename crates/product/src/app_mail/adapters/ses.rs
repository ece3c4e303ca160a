//! Amazon SES by way of SNS: an envelope that SNS signs with the key of a certificate, and in it the event as a text. Anybody
//! with an account can have SNS sign something, so an envelope counts only from the topic that was entered.
//!
//! The same event has two forms: of a configuration set (`eventType`) and of an identity's feedback (`notificationType`).

use aws_lc_rs::signature::{
    RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::app_mail::adapters::report::{
    FoundReport, One, ReadReports, ReportKind, is_fresh, is_gone, is_same,
};

const NOTIFICATION: &str = "Notification";
const CONFIRMATION: &str = "SubscriptionConfirmation";
/// The region whose mail has a domain of its own.
const FIRST_REGION: &str = "us-east-1";

/// What SNS sends.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Envelope {
    #[serde(rename = "Type")]
    kind: String,
    message_id: String,
    topic_arn: String,
    subject: Option<String>,
    message: String,
    timestamp: String,
    token: Option<String>,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: Option<String>,
    signature_version: String,
    signature: String,
    #[serde(rename = "SigningCertURL", alias = "SigningCertUrl")]
    certificate: String,
}

/// What an envelope is, once its signature holds.
#[derive(Debug, PartialEq)]
pub enum Content {
    Reports(ReadReports),
    /// The topic asks whether we want its messages: opening this address says yes.
    Confirm(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    event_type: Option<String>,
    notification_type: Option<String>,
    mail: SesMail,
    bounce: Option<Bounce>,
    complaint: Option<Complaint>,
    delivery: Option<Delivery>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SesMail {
    message_id: String,
    timestamp: Option<DateTime<Utc>>,
    source_arn: Option<String>,
    #[serde(default)]
    destination: Vec<String>,
    common_headers: Option<CommonHeaders>,
}

#[derive(Deserialize)]
struct CommonHeaders {
    subject: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bounce {
    bounce_type: Option<String>,
    bounce_sub_type: Option<String>,
    #[serde(default)]
    bounced_recipients: Vec<SesRecipient>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Complaint {
    #[serde(default)]
    complained_recipients: Vec<SesRecipient>,
}

#[derive(Deserialize)]
struct Delivery {
    #[serde(default)]
    recipients: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SesRecipient {
    email_address: String,
    status: Option<String>,
}

/// The ARN of a topic.
pub fn topic(given: &str) -> Option<Vec<u8>> {
    let parts: Vec<&str> = given.split(':').collect();
    let [b"arn", partition, b"sns", region, account, name] =
        parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let word = |part: &[u8], more: &[u8]| {
        !part.is_empty() && part.iter().all(|byte| byte.is_ascii_alphanumeric() || more.contains(byte))
    };
    let sound = partition.starts_with(b"aws")
        && word(partition, b"-")
        && word(region, b"-")
        && account.len() == 12
        && account.iter().all(u8::is_ascii_digit)
        && word(name, b"-_")
        && given.len() <= 300;
    sound.then(|| given.as_bytes().to_vec())
}

impl Envelope {
    /// An envelope of the topic that is new enough. Whether SNS signed it is still to be seen.
    pub fn read(topics: &[Vec<u8>], body: &[u8], now: DateTime<Utc>) -> Option<Self> {
        let envelope: Self = serde_json::from_slice(body).ok()?;
        let ours = topics.iter().filter(|topic| is_same(topic, envelope.topic_arn.as_bytes())).count() > 0;
        let at: DateTime<Utc> = envelope.timestamp.parse().ok()?;
        (ours && is_fresh(at.timestamp(), now)).then_some(envelope)
    }

    /// Where the certificate is said to be.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Whether the public key (DER) signed it.
    pub fn is_signed_by(&self, key: &[u8]) -> bool {
        let Ok(signature) = STANDARD.decode(&self.signature) else { return false };
        let algorithm = match self.signature_version.as_str() {
            "1" => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            "2" => &RSA_PKCS1_2048_8192_SHA256,
            _ => return false,
        };
        let Some(signed) = self.signed() else { return false };
        UnparsedPublicKey::new(algorithm, key).verify(signed.as_bytes(), &signature).is_ok()
    }

    /// The text that is signed: names and values, each on a line of its own.
    fn signed(&self) -> Option<String> {
        let mut parts = vec![("Message", &self.message), ("MessageId", &self.message_id)];
        match self.kind.as_str() {
            NOTIFICATION => {
                parts.extend(self.subject.as_ref().map(|subject| ("Subject", subject)));
                parts.push(("Timestamp", &self.timestamp));
            }
            CONFIRMATION | "UnsubscribeConfirmation" => {
                parts.push(("SubscribeURL", self.subscribe_url.as_ref()?));
                parts.push(("Timestamp", &self.timestamp));
                parts.push(("Token", self.token.as_ref()?));
            }
            _ => return None,
        }
        parts.extend([("TopicArn", &self.topic_arn), ("Type", &self.kind)]);
        Some(parts.iter().map(|(name, value)| format!("{name}\n{value}\n")).collect())
    }

    pub fn content(&self, now: DateTime<Utc>) -> Content {
        match (self.kind.as_str(), &self.subscribe_url) {
            (NOTIFICATION, _) => Content::Reports(ReadReports::from_result(self.report(now))),
            (CONFIRMATION, Some(url)) => Content::Confirm(url.clone()),
            _ => Content::Reports(ReadReports { passed_over: 1, ..ReadReports::default() }),
        }
    }

    fn report(&self, now: DateTime<Utc>) -> One {
        // SNS says by a plain sentence that a destination was set up.
        if self.message.starts_with("Successfully validated SNS topic") {
            return Ok(None);
        }
        let event: Event =
            serde_json::from_str(&self.message).map_err(|_| "Its Message is no event of SES.")?;
        let mail = &event.mail;
        let name = event.event_type.as_deref().or(event.notification_type.as_deref()).unwrap_or_default();
        let addresses = |all: &[SesRecipient]| -> Vec<String> {
            all.iter().map(|one| one.email_address.clone()).collect()
        };
        let (kind, to) = match (name, &event.bounce, &event.complaint, &event.delivery) {
            ("Send", ..) => (ReportKind::Sent, mail.destination.clone()),
            ("Delivery", _, _, Some(delivery)) => (ReportKind::Delivered, delivery.recipients.clone()),
            ("Bounce", Some(bounce), ..) => {
                let about_address = matches!(bounce.bounce_sub_type.as_deref(), Some("General" | "NoEmail"));
                let permanent = bounce.bounce_type.as_deref() == Some("Permanent");
                // Of several, some may be there: those say nothing here.
                let all = bounce.bounced_recipients.iter();
                let gone: Vec<String> = all
                    .filter(|one| permanent && about_address && is_gone(one.status.as_deref()))
                    .map(|one| one.email_address.clone())
                    .collect();
                if gone.is_empty() {
                    (ReportKind::Failed, addresses(&bounce.bounced_recipients))
                } else {
                    (ReportKind::Bounced, gone)
                }
            }
            ("Complaint", _, Some(complaint), _) => {
                (ReportKind::Complained, addresses(&complaint.complained_recipients))
            }
            ("Reject" | "Rendering Failure", ..) => (ReportKind::Failed, mail.destination.clone()),
            ("Bounce" | "Complaint" | "Delivery", ..) => return Err("It lacks what its kind is about."),
            _ => return Ok(None),
        };
        // SES replaces the Message-ID by its own, in a domain of the region.
        let region = mail.source_arn.as_deref().unwrap_or(&self.topic_arn).split(':').nth(3);
        let domain = match region.filter(|region| !region.is_empty() && *region != FIRST_REGION) {
            Some(region) => format!("{region}.amazonses.com"),
            None => "email.amazonses.com".to_owned(),
        };
        FoundReport {
            key: self.message_id.clone(),
            kind,
            message_id: Some(&format!("{}@{domain}", mail.message_id)),
            service_ref: Some(&mail.message_id),
            to: to.iter().map(String::as_str).collect(),
            subject: mail.common_headers.as_ref().and_then(|headers| headers.subject.as_deref()),
            at: mail.timestamp,
        }
        .checked(now)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:sent-mail";

    fn now() -> DateTime<Utc> {
        "2031-01-06T12:00:00Z".parse().unwrap()
    }

    fn envelope(message: &str) -> Value {
        json!({
            "Type": "Notification", "MessageId": "950a823d-501f-5137-a9a3-d0246f6094b0", "TopicArn": TOPIC,
            "Message": message, "Timestamp": "2031-01-06T11:59:00.000Z", "SignatureVersion": "2",
            "Signature": "AAAA", "SigningCertURL": "https://sns.eu-west-1.amazonaws.com/x.pem",
        })
    }

    fn read_one(message: &str) -> ReadReports {
        let envelope = envelope(message).to_string();
        let envelope = Envelope::read(&[TOPIC.into()], envelope.as_bytes(), now()).expect("an envelope");
        match envelope.content(now()) {
            Content::Reports(read) => read,
            Content::Confirm(_) => panic!("it is a notification"),
        }
    }

    #[test]
    fn both_forms_of_an_event_are_read() {
        let send = read_one(include_str!("../../../../../tests/sending/ses-send.json"));
        let report = &send.reports[0];
        assert_eq!(report.kind, ReportKind::Sent);
        assert_eq!(
            report.message_id.as_deref(),
            Some("EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000@eu-west-1.amazonses.com")
        );
        assert_eq!(report.to, ["anna@customer.example", "ben@customer.example"]);
        assert_eq!(
            (report.subject.as_str(), report.key.as_str()),
            ("Your order", "950a823d-501f-5137-a9a3-d0246f6094b0")
        );
        let bounce = include_str!("../../../../../tests/sending/ses-bounce.json");
        for body in [bounce.to_owned(), bounce.replace("eventType", "notificationType")] {
            let read = read_one(&body);
            assert_eq!(
                (read.reports[0].kind, &read.reports[0].to[..]),
                (ReportKind::Bounced, &["anna@customer.example".to_owned()][..])
            );
        }
        for (word, other) in
            [("Permanent", "Transient"), ("General", "OnAccountSuppressionList"), ("5.1.1", "5.7.1")]
        {
            assert_eq!(read_one(&bounce.replace(word, other)).reports[0].kind, ReportKind::Failed, "{other}");
        }
        let first = bounce.replace("eu-west-1", "us-east-1");
        assert!(
            read_one(&first).reports[0].message_id.as_ref().unwrap().ends_with("-000000@email.amazonses.com")
        );
        let complaint = read_one(include_str!("../../../../../tests/sending/ses-complaint.json"));
        assert_eq!(complaint.reports[0].kind, ReportKind::Complained);
        let delivery = read_one(include_str!("../../../../../tests/sending/ses-delivery.json"));
        assert_eq!((delivery.reports[0].kind, delivery.reports[0].to.len()), (ReportKind::Delivered, 1));
        assert_eq!(read_one(&bounce.replace("\"Bounce\"", "\"Open\"")).passed_over, 1);
        assert_eq!(
            read_one("Successfully validated SNS topic for Amazon SES event publishing.").passed_over,
            1
        );
        for body in ["", "{}", "[1]", r#"{"eventType":"Bounce","mail":{"messageId":"x"}}"#] {
            assert_eq!(read_one(body).unread.len(), 1, "{body}");
        }
    }

    #[test]
    fn an_envelope_of_another_topic_or_another_day_is_nobodys() {
        let right = envelope("{}");
        let read = |envelope: &Value| Envelope::read(&[TOPIC.into()], envelope.to_string().as_bytes(), now());
        assert!(read(&right).is_some());
        for (field, value) in [
            ("TopicArn", "arn:aws:sns:eu-west-1:123456789012:other"),
            ("Timestamp", "2031-01-05T11:59:00.000Z"),
            ("Timestamp", "2031-01-06T12:06:00.000Z"),
            ("Timestamp", "yesterday"),
        ] {
            let mut wrong = right.clone();
            wrong[field] = json!(value);
            assert!(read(&wrong).is_none(), "{value}");
        }
        assert!(Envelope::read(&[], right.to_string().as_bytes(), now()).is_none());
    }

    #[test]
    fn the_signed_text_is_that_of_the_documentation() {
        let read = |envelope: &Value| {
            Envelope::read(&[TOPIC.into()], envelope.to_string().as_bytes(), now()).unwrap().signed()
        };
        let mut one = envelope("Hi");
        let rest = format!("Timestamp\n2031-01-06T11:59:00.000Z\nTopicArn\n{TOPIC}\nType\nNotification\n");
        let id = "MessageId\n950a823d-501f-5137-a9a3-d0246f6094b0\n";
        assert_eq!(read(&one).unwrap(), format!("Message\nHi\n{id}{rest}"));
        one["Subject"] = json!("S");
        assert_eq!(read(&one).unwrap(), format!("Message\nHi\n{id}Subject\nS\n{rest}"));
        one["Type"] = json!("SubscriptionConfirmation");
        assert_eq!(read(&one), None, "without its address and token");
        (one["SubscribeURL"], one["Token"]) = (json!("https://u"), json!("t"));
        assert_eq!(
            read(&one).unwrap(),
            format!(
                "Message\nHi\n{id}SubscribeURL\nhttps://u\nTimestamp\n2031-01-06T11:59:00.000Z\nToken\nt\nTopicArn\n{TOPIC}\nType\nSubscriptionConfirmation\n"
            )
        );
    }
}
