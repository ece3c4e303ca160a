//! Renders a `Letter` as RFC 5322 bytes (D140, D142): threading headers, a plain and an HTML part, and the
//! answered mail quoted in both. The same letter gives the same bytes, so that a retry sends the same mail.
//! `Wording` is all that its reader reads: the mail is made of it, and so is what people see before it leaves.
//!
//! Subject, names, addresses and Message-IDs may come from outside: here each is reduced to one line, whatever was
//! checked before.

pub mod calendar;
mod html;
pub mod quoted;
pub mod wording;

use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::date::Date;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::{BodyPart, MimePart};

use self::wording::Wording;
use crate::incoming::return_path;
use rookery_base::relay::mailer::{FinalMail, OutgoingLetter, on_the_wire};
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::secret::SecretKey;
use rookery_core::conversations::messages::reply_context::ReplyContext;
use rookery_core::workspace::signatures::pictures::is_signature_picture;
use rookery_reading::html::written;
use rookery_reading::mail::parse::LOOP_FIELD;
use rookery_reading::text;

/// The longest Message-ID of somebody else that is repeated.
const LONGEST_ID: usize = 500;

/// A file that goes with a letter.
#[derive(Clone, Debug)]
pub struct LetterFile {
    pub name: String,
    pub content_type: String,
    pub content: Vec<u8>,
    /// By which the formatting names it.
    pub content_id: Option<String>,
}

/// `formatting` is how its writer formatted it, as it is stored. Pictures that it shows leave with it; when the text says
/// something else, they are files, but for those of a signature.
pub fn compose(
    letter: &OutgoingLetter,
    formatting: Option<&str>,
    earlier: &ReplyContext,
    files: Vec<LetterFile>,
    key: &SecretKey,
) -> FinalMail {
    let (from, to) = (on_the_wire(&letter.from), on_the_wire(&letter.to));
    let named = |file: &str| format!("{file}.{}", in_a_header(&letter.rfc_message_id));
    let is_there = |id: &str| files.iter().any(|file| file.content_id.as_deref() == Some(id));
    let placed = formatting.map(|stored| {
        written::with_pictures(stored, |id| is_there(id).then(|| format!("cid:{}", named(id))))
    });
    let wording = Wording::from_letter(letter, earlier).formatted_as(placed.as_deref());
    let shown = formatting.filter(|_| wording.formatted.is_some()).map(written::pictures).unwrap_or_default();
    let is_shown = |file: &LetterFile| file.content_id.as_ref().is_some_and(|id| shown.contains(id));
    let (pictures, mut files): (Vec<LetterFile>, Vec<LetterFile>) = files.into_iter().partition(is_shown);
    // The logo of a signature is no file that somebody sent.
    files.retain(|file| !file.content_id.as_deref().is_some_and(is_signature_picture));
    let mut builder = MessageBuilder::new()
        .from(Address::new_address(wording.from_name.clone(), in_a_header(&from)))
        .to(in_a_list(std::iter::once(&letter.to).chain(&letter.copies.to)))
        .subject(wording.subject.clone())
        .date(Date::new(earlier.date.timestamp()))
        .message_id(in_a_header(&letter.rfc_message_id));
    if !letter.copies.cc.is_empty() {
        builder = builder.cc(in_a_list(letter.copies.cc.iter()));
    }
    let answered = earlier.answers.as_ref().and_then(|answered| answered.rfc_message_id.as_ref());
    let answered = answered.filter(|id| is_sound(id));
    if let Some(answered) = answered {
        builder = builder.in_reply_to(answered.clone());
    }
    let chain: Vec<&String> = earlier.chain.iter().filter(|id| is_sound(id)).chain(answered).collect();
    if !chain.is_empty() {
        builder = builder.references(MessageId::new_list(chain.into_iter().map(String::as_str)));
    }
    if earlier.automatic {
        // RFC 3834, and Exchange's own header for it: asks machines not to answer.
        let (kind, suppress) =
            if earlier.auto_reply { ("auto-replied", "All") } else { ("auto-generated", "OOF, AutoReply") };
        builder = builder
            .header("Auto-Submitted", Raw::new(kind))
            .header("X-Auto-Response-Suppress", Raw::new(suppress));
    }
    builder = builder.header(LOOP_FIELD, Raw::new(earlier.mailbox.to_string()));
    // The builder would keep bare line feeds inside base64.
    let part = |kind: &'static str, text: String| MimePart::new(kind, text.replace('\n', "\r\n"));
    let plain = part("text/plain", wording.plain());
    let mut html = part("text/html", html::page(&wording));
    if !pictures.is_empty() {
        let related = ContentType::new("multipart/related").attribute("type", "text/html");
        let inline = |file: LetterFile| {
            let id = named(file.content_id.as_deref().unwrap_or_default());
            part_of(file, "inline").cid(id)
        };
        html = MimePart::new(
            related.attribute("boundary", boundary(letter, "pictures")),
            std::iter::once(html).chain(pictures.into_iter().map(inline)).collect::<Vec<_>>(),
        );
    }
    let both = ContentType::new("multipart/alternative").attribute("boundary", boundary(letter, "boundary"));
    let mut body = MimePart::new(both, vec![plain, html]);
    if !files.is_empty() {
        let all = ContentType::new("multipart/mixed").attribute("boundary", boundary(letter, "files"));
        body = MimePart::new(
            all,
            std::iter::once(body)
                .chain(files.into_iter().map(|file| part_of(file, "attachment")))
                .collect::<Vec<_>>(),
        );
    }
    let raw = builder.body(body).write_to_vec();
    FinalMail {
        return_path: return_path::make(key, letter.workspace, letter.message, &letter.from),
        to,
        copies_to: letter.copies.all().map(|address| on_the_wire(address)).collect(),
        raw: raw.expect("a vector can be written to"),
    }
}

fn in_a_list<'a>(addresses: impl Iterator<Item = &'a String>) -> Address<'static> {
    let one = |address: &String| Address::new_address(None::<&str>, in_a_header(&on_the_wire(address)));
    Address::new_list(addresses.map(one).collect())
}

/// The type is what the sender's browser said: it is repeated only if it is one, and nothing that a reader would open
/// as a page of ours or as more mail.
fn part_of(file: LetterFile, disposition: &'static str) -> MimePart<'static> {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_alphanumeric())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-'))
    };
    let sound = file.content_type.split_once('/').is_some_and(|(kind, of)| is_word(kind) && is_word(of));
    let nested = ["multipart/", "message/"].iter().any(|kind| file.content_type.starts_with(kind));
    let kind = if sound && !nested { file.content_type } else { "application/octet-stream".to_owned() };
    let disposition = ContentType::new(disposition).attribute("filename", text::line(&file.name));
    MimePart::new(ContentType::new(kind), BodyPart::Binary(file.content.into()))
        .header("Content-Disposition", disposition)
}

fn in_a_header(value: &str) -> String {
    value.chars().filter(|letter| !letter.is_control() && !matches!(letter, '<' | '>')).collect()
}

fn is_sound(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= LONGEST_ID
        && id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'))
}

/// Derived from the Message-ID: the same on every try, and unknown to anyone who could put it into a text.
fn boundary(letter: &OutgoingLetter, of: &str) -> String {
    let digest = sha256(format!("{of} {}", letter.rfc_message_id));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
