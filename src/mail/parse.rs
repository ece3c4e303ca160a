//! Turns the raw bytes of one mail into what the pipeline needs: who wrote, what was said,
//! which files came along, and whether a machine wrote it. Every cap is checked before the
//! work it bounds. Nothing here trusts the sender. Specification 2.3, 2.4 and 4.14.

mod address;
mod automatic;
mod contents;
mod fields;
mod file_name;
mod html;
mod mime;
mod report;

pub use address::Address;
pub use contents::Attachment;
pub use html::Link;
pub use report::{Bounce, Complaint, Failure, Report};

use crate::hashes::Sha256;

/// How deep multiparts may stand inside each other.
pub const MAX_DEPTH: usize = 32;
/// How many MIME parts one mail may have, containers included.
pub const MAX_PARTS: usize = 500;
/// The largest header block, of the mail or of one part.
pub const MAX_HEADER_BYTES: usize = 256 * 1024;
/// How many addresses all address headers may name together.
pub const MAX_ADDRESSES: usize = 1_000;
/// More hops than this is a loop.
pub const MAX_RECEIVED: usize = 50;
/// How many earlier mails a mail may point at.
pub const MAX_REFERENCES: usize = 50;
/// The longest Message-ID: one line of RFC 5322.
pub const MAX_MESSAGE_ID_CHARS: usize = 998;
/// Mail we send says in this field which inbox sent it. Mail that comes back with it goes in circles.
pub const LOOP_FIELD: &str = "X-Rookery-Loop";
/// Where a subject is cut.
pub const MAX_SUBJECT_CHARS: usize = 500;

/// Why a mail is not taken in. Each is a sentence that may go into an SMTP answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("The parts of this mail are nested more than {MAX_DEPTH} levels deep.")]
    TooDeep,
    #[error("This mail has more than {MAX_PARTS} parts.")]
    TooManyParts,
    #[error("The header of this mail is larger than {MAX_HEADER_BYTES} bytes.")]
    HeaderTooLarge,
    #[error("This mail names more than {MAX_ADDRESSES} addresses.")]
    TooManyAddresses,
    #[error("This mail went through more than {MAX_RECEIVED} servers; it is in a loop.")]
    Loop,
    #[error("This is not an email: it has no header.")]
    NotMail,
    /// Not for good: the one that is answered with "later".
    #[error("We took as much mail of this kind today as we take in a day. Send it again tomorrow.")]
    EnoughForToday,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedMail {
    /// Without angle brackets.
    pub message_id: Option<String>,
    /// In-Reply-To first, then References from the newest on, without angle brackets.
    pub references: Vec<String>,
    /// How many of them stand in In-Reply-To.
    pub in_reply_to: usize,
    /// Those that stand in References, the newest first, whether In-Reply-To has them too or not.
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
    /// The links of the HTML body.
    pub links: Vec<Link>,
    pub attachments: Vec<Attachment>,
    /// A machine wrote this: out-of-office, bounce, list or bulk mail.
    pub automatic: bool,
    /// A bounce or a complaint, in the form that machines write.
    pub report: Option<Report>,
    /// The inboxes whose mark it carries: it was sent by them.
    pub sent_by: Vec<String>,
    /// The same for the same mail that came by another path.
    pub fingerprint: [u8; 32],
    /// The same for the same list of people written to, the same mails answered and the same kind of body.
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
        links: contents.links,
        attachments: contents.attachments,
        automatic,
        report: report::read(&mail),
        sent_by: head.all(LOOP_FIELD).filter_map(fields::mark).collect(),
        fingerprint,
        heading: heading(head),
    })
}

/// Only fields the author wrote count, never those a relay adds. Each value is framed by its
/// length, so that bytes cannot wander from one field to the next.
fn fingerprint(head: &mime::Head, body: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for name in ["message-id", "from", "date", "subject"] {
        let values: Vec<&[u8]> = head.all(name).collect();
        hash.update((values.len() as u64).to_be_bytes());
        for value in values {
            let value = value.trim_ascii();
            hash.update((without_cr(value).map(<[u8]>::len).sum::<usize>() as u64).to_be_bytes());
            without_cr(value).for_each(|piece| hash.update(piece));
        }
    }
    // Relays may turn CRLF to LF or add a last line end; neither is other content.
    without_cr(body.trim_ascii_end()).for_each(|piece| hash.update(piece));
    hash.finish()
}

/// What else the author wrote into the header: a copy that differs here may stand elsewhere or read otherwise. Relays
/// break these lines anew, so white space does not count.
fn heading(head: &mime::Head) -> [u8; 32] {
    let mut hash = Sha256::new();
    for name in ["to", "cc", "in-reply-to", "references", "content-type"] {
        for value in head.all(name) {
            let visible: Vec<u8> = value.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            hash.update((visible.len() as u64).to_be_bytes());
            hash.update(&visible);
        }
        hash.update(u64::MAX.to_be_bytes());
    }
    hash.finish()
}

fn without_cr(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\r')
}

/// One line: controls and runs of white space become one space, the ends are trimmed.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_control() || c.is_whitespace() {
            gap = true;
            continue;
        }
        let needed = if gap && chars > 0 { 2 } else { 1 };
        if chars + needed > max_chars {
            break;
        }
        if needed == 2 {
            line.push(' ');
        }
        line.push(c);
        chars += needed;
        gap = false;
    }
    line
}

/// Characters that make a name look like another one: direction overrides and zero widths.
pub(crate) fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
