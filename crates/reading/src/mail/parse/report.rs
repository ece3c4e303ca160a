//! Parses reports about our own mail: bounces (RFC 3464) and complaints (RFC 5965). Only machine-readable fields
//! are used, never the prose. A report that cannot be parsed is ordinary mail.

use super::mime::{Head, MimeMail, ParsedPart};
use super::{address, fields};

/// Recipients one report may name.
const MOST_RECIPIENTS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailReport {
    Bounce(Bounce),
    Complaint(Complaint),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    /// The Message-ID of the mail that did not arrive, without angle brackets.
    pub message_id: Option<String>,
    pub failures: Vec<RecipientFailure>,
}

/// The delivery status of one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientFailure {
    /// Lower case: the final and the original recipient, often the same. Empty when the report names nobody.
    pub recipients: Vec<String>,
    /// Permanent: action `failed` with a status 5.x.x.
    pub permanent: bool,
    /// `5.1.1`
    pub status: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// `abuse` and others of RFC 5965.
    pub kind: String,
    pub message_id: Option<String>,
    /// Who complained, when the report says so.
    pub recipients: Vec<String>,
}

impl RecipientFailure {
    /// Whether it is about this address, or names none.
    pub fn may_be_for(&self, address: &str) -> bool {
        self.recipients.is_empty() || self.recipients.iter().any(|recipient| recipient == address)
    }
}

impl MailReport {
    /// The report with the Message-ID that it is about.
    pub fn naming(mut self, id: String) -> Self {
        match &mut self {
            Self::Bounce(Bounce { message_id, .. }) | Self::Complaint(Complaint { message_id, .. }) => {
                *message_id = Some(id);
            }
        }
        self
    }

    /// The Message-ID of the mail that it is about.
    pub fn about(&self) -> Option<&str> {
        match self {
            Self::Bounce(bounce) => bounce.message_id.as_deref(),
            Self::Complaint(complaint) => complaint.message_id.as_deref(),
        }
    }
}

pub(super) fn read(mail: &MimeMail) -> Option<MailReport> {
    if !mail.is_report {
        return None;
    }
    let part = |kind: &str| mail.parts.iter().find(|part| is_of(part, kind));
    let original = part("rfc822").or_else(|| part("rfc822-headers")).or_else(|| part("global"));
    let original = original.map(|part| Head::of_mail(part.body));
    let message_id = original.as_ref().and_then(fields::message_id);
    if let Some(status) = part("delivery-status").or_else(|| part("global-delivery-status")) {
        return Some(MailReport::Bounce(Bounce { message_id, failures: failures(status.body) }));
    }
    let feedback = Head::of_mail(part("feedback-report")?.body);
    let named = feedback.all("original-rcpt-to").chain(feedback.all("removal-recipient"));
    Some(MailReport::Complaint(Complaint {
        kind: feedback.word("feedback-type")?,
        message_id,
        recipients: named.filter_map(recipient).take(MOST_RECIPIENTS).collect(),
    }))
}

/// Compares the subtype only: `message/delivery-status`, `text/rfc822-headers`.
fn is_of(part: &ParsedPart, kind: &str) -> bool {
    let content_type = part.content_type.as_ref();
    let main =
        content_type.is_some_and(|t| ["message", "text"].iter().any(|m| t.c_type.eq_ignore_ascii_case(m)));
    main && content_type
        .and_then(|t| t.c_subtype.as_deref())
        .is_some_and(|sub| sub.eq_ignore_ascii_case(kind))
}

/// Groups of fields with blank lines between them: one for the mail, then one for each recipient.
fn failures(body: &[u8]) -> Vec<RecipientFailure> {
    let mut found = Vec::new();
    let mut rest = body;
    while !rest.is_empty() && found.len() < MOST_RECIPIENTS {
        let (head, after) = Head::group(rest);
        rest = after;
        let named = ["final-recipient", "original-recipient"].map(|name| head.first(name));
        let mut recipients: Vec<String> = named.into_iter().flatten().filter_map(recipient).collect();
        recipients.dedup();
        // A recipient is named, but not readable: it is none of ours.
        let unreadable = recipients.is_empty() && named.iter().any(Option::is_some);
        let Some(action) = head.word("action").filter(|_| !unreadable) else { continue };
        let status = head.word("status").unwrap_or_default();
        let status = status.split([' ', '(', '\t']).next().unwrap_or_default().to_owned();
        let permanent = action == "failed" && status.starts_with("5.");
        found.push(RecipientFailure { recipients, permanent, status });
    }
    found
}

/// `rfc822; anna@customer.example`, or the address alone.
fn recipient(value: &[u8]) -> Option<String> {
    let value = String::from_utf8_lossy(value);
    let address = value.rsplit_once(';').map_or(&*value, |(_, address)| address);
    address::clean_email(address.trim().trim_start_matches('<').trim_end_matches('>'))
}
