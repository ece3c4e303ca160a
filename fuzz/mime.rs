//! MIME: whatever bytes come, a mail is read quickly or refused, every cap holds, nothing but clean text comes
//! out, and the line ends that a relay chose make no difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rookery_fuzz::{is_unseen, let_panics_unwind, quickly, with_line_ends};
use rookery_reading::mail::parse::{
    MAX_ADDRESSES, MAX_MESSAGE_ID_CHARS, MAX_PARTS, MAX_REFERENCES, MAX_SUBJECT_CHARS, MimeAttachment,
    ParsedMail, parse,
};

const MAX_LINKS: usize = 200;
const MAX_TEXT_BYTES: usize = 1024 * 1024;
const MAX_FILE_NAME_CHARS: usize = 200;

fuzz_target!(init: let_panics_unwind(), |raw: &[u8]| {
    if let Ok(mail) = quickly(|| parse(raw)) {
        text_is_clean(&mail);
        caps_hold(&mail, raw);
        mail.attachments.iter().for_each(file_is_clean);
    }
    line_ends_do_not_matter(raw);
});

fn text_is_clean(mail: &ParsedMail) {
    assert!(!mail.text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')), "controls in the text");
    if let Some(subject) = &mail.subject {
        assert!(!subject.chars().any(char::is_control) && !subject.trim().is_empty(), "{subject:?}");
    }
    for id in mail.message_id.iter().chain(&mail.references) {
        assert!(!id.is_empty() && !id.chars().any(|c| c.is_control() || c.is_whitespace()), "{id:?}");
        assert!(id.chars().count() <= MAX_MESSAGE_ID_CHARS);
    }
}

fn caps_hold(mail: &ParsedMail, raw: &[u8]) {
    assert!(mail.text.len() <= MAX_TEXT_BYTES);
    assert!(mail.subject.as_ref().is_none_or(|subject| subject.chars().count() <= MAX_SUBJECT_CHARS));
    assert!(mail.references.len() <= MAX_REFERENCES && mail.in_reply_to <= mail.references.len());
    assert!(mail.to.len() + mail.cc.len() + mail.delivered_to.len() <= MAX_ADDRESSES);
    assert!(!mail.single_from || mail.from.is_some());
    assert!(mail.links.len() <= MAX_LINKS);
    // One more for a text that is too long to be one.
    assert!(mail.attachments.len() <= MAX_PARTS + 1);
    let files = mail.attachments.iter().filter(|file| file.filename != "message.txt");
    assert!(files.map(|file| file.content.len()).sum::<usize>() <= raw.len(), "files larger than the mail");
}

fn file_is_clean(file: &MimeAttachment) {
    let name = &file.filename;
    assert!(!name.is_empty() && name.chars().count() <= MAX_FILE_NAME_CHARS, "{name:?}");
    assert!(
        !name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\') || (c != ' ' && is_unseen(c))),
        "{name:?}"
    );
    assert!(!name.ends_with('.'), "{name:?}");
    let kind = &file.content_type;
    assert!(kind.is_ascii() && !kind.chars().any(|c| c.is_control() || c == ' '), "{kind:?}");
    assert_eq!(kind.matches('/').count(), 1, "{kind:?}");
}

/// A relay may turn CRLF into LF: it is the same mail from the same person, with the same fingerprint.
fn line_ends_do_not_matter(raw: &[u8]) {
    let lf: Vec<u8> = raw.iter().copied().filter(|byte| *byte != b'\r').collect();
    let crlf = with_line_ends(&lf, b"\r\n");
    // A header that just fits may not fit with the other line ends.
    if let (Ok(lf), Ok(crlf)) = (parse(&lf), parse(&crlf)) {
        assert_eq!(lf.fingerprint, crlf.fingerprint);
        assert_eq!((lf.message_id, lf.references), (crlf.message_id, crlf.references));
        assert_eq!((lf.from, lf.single_from), (crlf.from, crlf.single_from));
        assert_eq!((lf.to, lf.cc, lf.subject), (crlf.to, crlf.cc, crlf.subject));
        assert_eq!((lf.automatic, lf.sent_by), (crlf.automatic, crlf.sent_by));
        assert_eq!(lf.attachments.len(), crlf.attachments.len());
    }
}
