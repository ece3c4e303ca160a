//! Parses the raw bytes of a mail: sender, text, attachments, and whether a machine wrote it. Every limit is
//! checked before the work it bounds, and nothing the sender wrote is trusted. Specification 2.3, 2.4 and 4.14.

mod address;
mod automatic;
mod contents;
mod fields;
mod file_name;
mod html;
mod limits;
mod line;
mod mime;
mod report;

pub use address::Address;
pub use contents::{HtmlBody, MimeAttachment};
pub use html::HtmlLink;
pub use limits::*;
pub use line::is_deceptive;
pub use report::{Bounce, Complaint, MailReport, RecipientFailure};

use aws_lc_rs::digest::{Context, SHA256};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedMail {
    /// Without angle brackets.
    pub message_id: Option<String>,
    /// In-Reply-To first, then References from the newest on, without angle brackets.
    pub references: Vec<String>,
    /// How many of `references` are from In-Reply-To.
    pub in_reply_to: usize,
    /// The ids in References, newest first, including those that are also in In-Reply-To.
    pub referenced: Vec<String>,
    /// The first usable From mailbox.
    pub from: Option<Address>,
    /// Exactly one From header with exactly one mailbox.
    pub single_from: bool,
    pub reply_to: Option<Address>,
    pub to: Vec<Address>,
    pub cc: Vec<Address>,
    pub delivered_to: Vec<Address>,
    pub subject: Option<String>,
    /// The whole text, quoted history included.
    pub text: String,
    /// The HTML body, if there is one that is not too large.
    pub html: Option<HtmlBody>,
    /// The links of the HTML body.
    pub links: Vec<HtmlLink>,
    pub attachments: Vec<MimeAttachment>,
    /// A machine wrote this: out-of-office, bounce, list or bulk mail.
    pub automatic: bool,
    /// It asks machines not to answer.
    pub wants_no_answer: bool,
    /// A bounce or complaint in its standard format.
    pub report: Option<MailReport>,
    /// Inbox ids in our loop header: inboxes that sent this mail.
    pub sent_by: Vec<String>,
    /// Hash of what the author wrote; equal for copies of a mail that took different paths.
    pub fingerprint: [u8; 32],
    /// Hash of recipients, answered mails and content type.
    pub heading: [u8; 32],
}

pub fn parse(raw: &[u8]) -> Result<ParsedMail, Refusal> {
    let mail = mime::walk(raw)?;
    let head = &mail.head;
    if head.all("received").count() > MAX_RECEIVED {
        return Err(Refusal::Loop);
    }
    let senders = address::read(head, &["from"]);
    let reply_to = address::read(head, &["reply-to"]);
    let to = address::read(head, &["to"]);
    let cc = address::read(head, &["cc"]);
    let delivered_to = address::read(head, &["delivered-to", "x-original-to", "envelope-to"]);
    let named: usize = [&senders, &reply_to, &to, &cc, &delivered_to].iter().map(|list| list.entries).sum();
    if named > MAX_ADDRESSES {
        return Err(Refusal::TooManyAddresses);
    }
    let subject = fields::subject(head);
    let automatic = automatic::is_automatic(head, mail.is_report, subject.as_deref());
    let fingerprint = fingerprint(head, mail.body);
    let contents = contents::sort(&mail.parts);
    let (references, in_reply_to, referenced) = fields::references(head);
    Ok(ParsedMail {
        message_id: fields::message_id(head),
        references,
        in_reply_to,
        referenced,
        single_from: senders.is_single(),
        from: senders.addresses.into_iter().next(),
        reply_to: reply_to.addresses.into_iter().next(),
        to: to.addresses,
        cc: cc.addresses,
        delivered_to: delivered_to.addresses,
        subject,
        text: contents.text,
        html: contents.html,
        links: contents.links,
        attachments: contents.attachments,
        automatic,
        wants_no_answer: automatic::wants_no_answer(head),
        report: report::read(&mail),
        sent_by: head.all(LOOP_FIELD).filter_map(fields::mark).collect(),
        fingerprint,
        heading: heading(head),
    })
}

/// Covers only fields that the author wrote, not those that relays add. Each value is preceded by its length, so
/// that bytes cannot move from one field to the next.
fn fingerprint(head: &mime::Head, body: &[u8]) -> [u8; 32] {
    let mut hash = Context::new(&SHA256);
    for name in ["message-id", "from", "date", "subject"] {
        let values: Vec<&[u8]> = head.all(name).collect();
        hash.update(&(values.len() as u64).to_be_bytes());
        for value in values {
            let value = value.trim_ascii();
            hash.update(&(without_cr(value).map(<[u8]>::len).sum::<usize>() as u64).to_be_bytes());
            without_cr(value).for_each(|piece| hash.update(piece));
        }
    }
    // Relays may turn CRLF into LF or add a final line end; the content is still the same.
    without_cr(body.trim_ascii_end()).for_each(|piece| hash.update(piece));
    hash.finish().as_ref().try_into().expect("32 bytes")
}

/// The other fields that the author wrote: a copy that differs here may be filed or read differently. White space
/// is ignored, because relays refold these lines.
fn heading(head: &mime::Head) -> [u8; 32] {
    let mut hash = Context::new(&SHA256);
    for name in ["to", "cc", "in-reply-to", "references", "content-type"] {
        for value in head.all(name) {
            let visible: Vec<u8> = value.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            hash.update(&(visible.len() as u64).to_be_bytes());
            hash.update(&visible);
        }
        hash.update(&u64::MAX.to_be_bytes());
    }
    hash.finish().as_ref().try_into().expect("32 bytes")
}

fn without_cr(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\r')
}

#[cfg(test)]
mod tests;
