//! Mail about a booking, in the form that calendar programs agree on: the words plain and as HTML beside the invitation, and
//! the invitation once more as a file. The same letter gives the same bytes.

use chrono::{DateTime, Utc};
use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::date::Date;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::{BodyPart, MimePart};

use super::wording::Wording;
use super::{boundary, html, in_a_header, in_a_list};
use crate::incoming::return_path;
use rookery_base::ids::MailboxId;
use rookery_base::relay::mailer::{FinalMail, OutgoingLetter, on_the_wire};
use rookery_base::secrets::secret::SecretKey;
use rookery_reading::mail::parse::LOOP_FIELD;
use rookery_reading::text;

/// What a calendar program is to do with it, and the event.
pub struct Calendar {
    pub method: &'static str,
    pub text: String,
}

pub fn compose(
    letter: &OutgoingLetter,
    mailbox: MailboxId,
    date: DateTime<Utc>,
    calendar: Option<Calendar>,
    key: &SecretKey,
) -> FinalMail {
    let wording = Wording {
        from_name: letter.from_name.as_deref().map(text::line).filter(|name| !name.is_empty()),
        subject: text::line(&letter.subject),
        written: text::lines(&letter.text).trim_end().to_owned(),
        formatted: None,
        quoted: None,
    };
    let builder = MessageBuilder::new()
        .from(Address::new_address(wording.from_name.clone(), in_a_header(&on_the_wire(&letter.from))))
        .to(in_a_list(std::iter::once(&letter.to)))
        .subject(wording.subject.clone())
        .date(Date::new(date.timestamp()))
        .message_id(in_a_header(&letter.rfc_message_id))
        .header("Auto-Submitted", Raw::new("auto-generated"))
        .header("X-Auto-Response-Suppress", Raw::new("OOF, AutoReply"))
        .header(LOOP_FIELD, Raw::new(mailbox.to_string()));
    let part = |kind: &'static str, text: String| MimePart::new(kind, text.replace('\n', "\r\n"));
    let mut ways = vec![part("text/plain", wording.plain()), part("text/html", html::page(&wording))];
    let mut files = Vec::new();
    if let Some(Calendar { method, text }) = calendar {
        let of = |kind: &'static str| {
            ContentType::new(kind).attribute("charset", "utf-8").attribute("method", method)
        };
        ways.push(MimePart::new(of("text/calendar"), BodyPart::Text(text.clone().into())));
        let file = MimePart::new(of("application/ics"), BodyPart::Binary(text.into_bytes().into()));
        files.push(file.attachment("invitation.ics"));
    }
    let both = ContentType::new("multipart/alternative").attribute("boundary", boundary(letter, "boundary"));
    let mut body = MimePart::new(both, ways);
    if !files.is_empty() {
        let all = ContentType::new("multipart/mixed").attribute("boundary", boundary(letter, "files"));
        body = MimePart::new(all, std::iter::once(body).chain(files).collect::<Vec<_>>());
    }
    let raw = builder.body(body).write_to_vec();
    FinalMail {
        return_path: return_path::make(key, letter.workspace, letter.message, &letter.from),
        to: on_the_wire(&letter.to),
        copies_to: Vec::new(),
        raw: raw.expect("a vector can be written to"),
    }
}
