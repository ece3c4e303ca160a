//! Reads the header fields that thread and name a mail: Message-ID, References and Subject.
//! An id is one line without white space, or it is no id. Specification 2.3 and 4.14.

use mail_parser::HeaderValue;
use mail_parser::parsers::MessageStream;

use super::mime::Head;
use super::{MAX_MESSAGE_ID_CHARS, MAX_REFERENCES, MAX_SUBJECT_CHARS, one_line};

pub(super) fn message_id(head: &Head) -> Option<String> {
    let value = head.first("message-id")?;
    if let Some(id) = ids(value).into_iter().next() {
        return Some(id);
    }
    // Some programs leave the brackets out.
    let bare = std::str::from_utf8(value).ok()?.trim();
    (!bare.contains(['<', '>']) && is_id(bare)).then(|| bare.to_owned())
}

pub(super) fn references(head: &Head) -> Vec<String> {
    let answered = head.all("in-reply-to").flat_map(ids);
    let newest_first = head.all("references").flat_map(|value| ids(value).into_iter().rev());
    let mut found: Vec<String> = Vec::new();
    for id in answered.chain(newest_first) {
        if found.len() == MAX_REFERENCES {
            break;
        }
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
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

pub(super) fn subject(head: &Head) -> Option<String> {
    let mut value = head.first("subject")?.to_vec();
    value.push(b'\n');
    let HeaderValue::Text(text) = MessageStream::new(&value).parse_unstructured() else {
        return None;
    };
    let subject = one_line(&text, MAX_SUBJECT_CHARS);
    (!subject.is_empty()).then_some(subject)
}
