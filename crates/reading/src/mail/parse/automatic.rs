//! Tells mail a machine wrote from mail a person wrote, by its header alone (RFC 3834).
//! Automatic mail changes no status and is never answered. Specification 6.2 and 8.3.

use std::sync::LazyLock;

use super::mime::Head;
use crate::lists::{Words, words};

/// Each of these fields marks an automatic reply, unless its value is "no".
const ANSWER_FIELDS: &[&str] = &["auto-submitted", "x-autoreply", "x-autorespond"];
const LIST_FIELDS: &[&str] = &["list-id", "list-unsubscribe"];
const BULK: &[&str] = &["bulk", "junk", "list", "auto_reply", "auto-reply"];

/// How subjects of automatic answers begin, in lower case.
static ANSWER_SUBJECTS: Words = LazyLock::new(|| words(include_str!("words/answer_subjects.txt")));

pub(super) fn is_automatic(head: &Head, is_report: bool, subject: Option<&str>) -> bool {
    is_report
        || ANSWER_FIELDS.iter().any(|name| says_yes(head, name))
        || LIST_FIELDS.iter().any(|name| head.first(name).is_some())
        || head.word("precedence").is_some_and(|value| BULK.contains(&value.as_str()))
        || has_null_sender(head)
        || is_suppressed_answer(head, subject)
}

/// Exchange's way to say it (MS-OXCMAIL): the kinds of answers that are not wanted.
pub(super) fn wants_no_answer(head: &Head) -> bool {
    const KINDS: &[&str] = &["all", "oof", "autoreply"];
    let asked = head.word("x-auto-response-suppress");
    asked.is_some_and(|value| value.split([',', ';']).any(|kind| KINDS.contains(&kind.trim())))
}

fn says_yes(head: &Head, name: &str) -> bool {
    head.word(name).is_some_and(|value| {
        let word = value.split([';', ' ', '\t', '(']).next().unwrap_or("");
        !word.is_empty() && word != "no"
    })
}

fn has_null_sender(head: &Head) -> bool {
    head.word("return-path").is_some_and(|value| value.split_ascii_whitespace().collect::<String>() == "<>")
}

/// Exchange puts this field on its own answers, but ticket systems put it on mail of people
/// too. So the subject has to say it as well.
fn is_suppressed_answer(head: &Head, subject: Option<&str>) -> bool {
    let Some(subject) = subject.map(str::to_lowercase) else {
        return false;
    };
    head.first("x-auto-response-suppress").is_some() && ANSWER_SUBJECTS.iter().any(|s| subject.starts_with(s))
}
