//! Reads the header fields that thread and name a mail: Message-ID, References and Subject.
//! An id is one line without white space, or it is no id. Specification 2.3 and 4.14.

use mail_parser::HeaderValue;
use mail_parser::parsers::MessageStream;

use super::limits::{MAX_MESSAGE_ID_CHARS, MAX_REFERENCES, MAX_SUBJECT_CHARS};
use super::line::one_line;
use super::mime::Head;

pub(super) fn message_id(head: &Head) -> Option<String> {
    let value = head.first("message-id")?;
    if let Some(id) = ids(value).into_iter().next() {
        return Some(id);
    }
    // Some programs leave the brackets out.
    let bare = std::str::from_utf8(value).ok()?.trim();
    (!bare.contains(['<', '>']) && is_id(bare)).then(|| bare.to_owned())
}

/// The ids of both fields, how many are from In-Reply-To, and those from References.
pub(super) fn references(head: &Head) -> (Vec<String>, usize, Vec<String>) {
    let answered: Vec<String> = head.all("in-reply-to").flat_map(ids).collect();
    let newest_first = head.all("references").flat_map(|value| ids(value).into_iter().rev());
    let referenced: Vec<String> = newest_first.take(MAX_REFERENCES).collect();
    let mut found: Vec<String> = Vec::new();
    let mut add = |ids: &mut dyn Iterator<Item = String>| {
        for id in ids {
            if found.len() < MAX_REFERENCES && !found.contains(&id) {
                found.push(id);
            }
        }
        found.len()
    };
    let in_reply_to = add(&mut answered.into_iter());
    add(&mut referenced.iter().cloned());
    (found, in_reply_to, referenced)
}

fn ids(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value);
    text.split('>')
        .filter_map(|piece| piece.rsplit_once('<'))
        .map(|(_, id)| id.trim())
        .filter(|id| is_id(id))
        .map(str::to_owned)
        .collect()
}

fn is_id(id: &str) -> bool {
    !id.is_empty()
        && !id.contains(char::REPLACEMENT_CHARACTER)
        && !id.chars().any(|c| c.is_whitespace() || c.is_control())
        && id.chars().count() <= MAX_MESSAGE_ID_CHARS
}

/// The value of a field that holds one word.
pub(super) fn mark(value: &[u8]) -> Option<String> {
    std::str::from_utf8(value).ok().map(str::trim).filter(|mark| is_id(mark)).map(str::to_owned)
}

pub(super) fn subject(head: &Head) -> Option<String> {
    let mut value = head.first("subject")?.to_vec();
    value.push(b'\n');
    let HeaderValue::Text(text) = MessageStream::new(&value).parse_unstructured() else {
        return None;
    };
    let subject = one_line(&text, MAX_SUBJECT_CHARS);
    (!subject.is_empty()).then_some(subject)
}
