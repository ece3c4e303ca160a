//! What a letter looks like on the wire, that it looks the same on every try, and that nothing from outside adds
//! a line to its header.

use mail_parser::{MessageParser, MimeHeaders};
use proptest::prelude::*;

use super::wording::subject;
use super::*;
use rookery_base::ids::{ConversationId, MailboxId, MessageId as OurId, WorkspaceId};
use rookery_base::relay::mailer::Copies;
use rookery_core::conversations::messages::reply_context::{Answered, QUOTED};

const KEY: SecretKey = SecretKey([3; 32]);

fn letter() -> OutgoingLetter {
    OutgoingLetter {
        workspace: WorkspaceId(1),
        conversation: ConversationId(2),
        message: OurId(3),
        rfc_message_id: "msg_0000000000003.00112233445566778899aabbccddeeff@acme.example".into(),
        from_name: Some("Acme Help".into()),
        from: "help@acme.example".into(),
        to: "ada@customer.example".into(),
        copies: Copies::default(),
        subject: "Parcel".into(),
        text: "Dear Ada,\n\nit is on its way: https://post.example/track?id=7&lang=en\n\nMia".into(),
    }
}

fn earlier() -> ReplyContext {
    ReplyContext {
        mailbox: MailboxId(4),
        date: "2031-01-06T09:10:00Z".parse().unwrap(),
        automatic: false,
        auto_reply: false,
        answers: Some(Answered {
            rfc_message_id: Some("two@customer.example".into()),
            at: "2031-01-06T08:59:00Z".parse().unwrap(),
            from_name: Some("Ada Lovelace".into()),
            from_email: "ada@customer.example".into(),
            text: "Where is it?\n\n> You wrote before\n<b>Ada</b>".into(),
        }),
        chain: vec!["one@customer.example".into(), "msg_1.ab@acme.example".into()],
        quotes: true,
    }
}

fn wire(letter: &OutgoingLetter, earlier: &ReplyContext) -> String {
    String::from_utf8(compose(letter, None, earlier, Vec::new(), &KEY).raw).unwrap()
}

/// proves: MSG-11
#[test]
fn an_answer_threads_and_quotes_what_it_answers() {
    insta::assert_snapshot!(wire(&letter(), &earlier()));
}

#[test]
fn a_reminder_says_that_a_machine_wrote_it_and_quotes_nobody() {
    insta::assert_snapshot!(wire(&letter(), &ReplyContext { automatic: true, ..earlier() }));
}

/// RFC 3834: it says that it is one, threads, quotes nobody, and has its own subject as it was written.
#[test]
fn an_automatic_reply_says_what_it_is() {
    let letter = OutgoingLetter { subject: "We are closed".into(), ..letter() };
    let raw = wire(&letter, &ReplyContext { automatic: true, auto_reply: true, ..earlier() });
    for line in [
        "Auto-Submitted: auto-replied\r\n",
        "X-Auto-Response-Suppress: All\r\n",
        "In-Reply-To: <two@customer.example>\r\n",
        "Subject: We are closed\r\n",
    ] {
        assert!(raw.contains(line), "{line} in {raw}");
    }
    assert!(!raw.contains("Where is it?"), "{raw}");
}

#[test]
fn letters_of_every_language_are_encoded() {
    let letter = OutgoingLetter {
        from_name: Some("Müller, \"Büro\"".into()),
        subject: "Größe & شكرا".into(),
        text: "Grüße 🙂\n\nشكرا جزيلا".into(),
        to: "ada@bücher.example".into(),
        ..letter()
    };
    let raw = wire(&letter, &ReplyContext { answers: None, chain: Vec::new(), ..earlier() });
    assert!(raw.is_ascii(), "no relay needs 8BITMIME for it");
    insta::assert_snapshot!(raw);
    let parsed = MessageParser::new().parse(raw.as_bytes()).unwrap();
    assert_eq!(parsed.subject(), Some("Größe & شكرا"), "nothing was answered, so no Re:");
    assert_eq!(parsed.from().unwrap().first().unwrap().name(), Some("Müller, \"Büro\""));
    assert_eq!(parsed.body_text(0).unwrap().trim(), "Grüße 🙂\r\n\r\nشكرا جزيلا");
}

/// A picture is beside the HTML that shows it, under an id of this mail; when the text says something else it is a file.
#[test]
fn a_picture_that_the_text_shows_is_related_to_it() {
    let bytes = b"\x89PNG\r\n\x1a\n\x00\xff\n.\r\n";
    let picture = LetterFile {
        name: "door.png".into(),
        content_type: "image/png".into(),
        content: bytes.to_vec(),
        content_id: Some("dfl_1".into()),
    };
    let stored = "<div>See <img alt=\"The door\" src=\"cid:dfl_1\"> <img alt=\"b\" src=\"cid:dfl_2\"></div>";
    let shown = OutgoingLetter { text: "See [The door] [b]\n\nMia".into(), ..letter() };
    let mail = |letter: &OutgoingLetter, files: Vec<LetterFile>| {
        compose(letter, Some(stored), &earlier(), files, &KEY).raw
    };
    let all = [files(), vec![picture.clone()]].concat();
    let raw = mail(&shown, all.clone());
    assert_eq!(raw, mail(&shown, all), "every try is the same");
    let parsed = MessageParser::new().parse(&raw).unwrap();
    let id = "dfl_1.msg_0000000000003.00112233445566778899aabbccddeeff@acme.example";
    let html = parsed.body_html(0).unwrap();
    assert!(html.contains(&format!("src=\"cid:{id}\"")) && html.contains("[b]"), "{html}");
    let found = parsed.parts.iter().find(|part| part.content_id().is_some()).unwrap();
    assert_eq!((found.content_id(), found.contents()), (Some(id), &bytes[..]));
    assert_eq!(found.attachment_name(), Some("door.png"));
    assert!(found.content_disposition().unwrap().is_inline());
    let text = String::from_utf8_lossy(&raw);
    let at = |kind: &str| text.find(kind).unwrap_or_else(|| panic!("no {kind}: {text}"));
    assert!(at("multipart/mixed") < at("multipart/alternative"));
    assert!(at("multipart/alternative") < at("multipart/related"));
    assert!(at("multipart/related") < at("image/png") && at("image/png") < at("application/pdf"));

    let raw = mail(&letter(), vec![picture.clone()]);
    let parsed = MessageParser::new().parse(&raw).unwrap();
    let file = parsed.attachments().next().unwrap();
    assert!(!String::from_utf8_lossy(&raw).contains("multipart/related"));
    assert_eq!((file.attachment_name(), file.contents()), (Some("door.png"), &bytes[..]));
    // But the logo of a signature is no file.
    let logo = LetterFile { content_id: Some("sgf_0000000000001".into()), ..picture };
    let raw = mail(&letter(), vec![logo]);
    assert_eq!(MessageParser::new().parse(&raw).unwrap().attachments().count(), 0);
}

#[test]
fn the_same_letter_is_the_same_bytes() {
    let again = || compose(&letter(), None, &earlier(), files(), &KEY);
    assert_eq!(again(), again());
    let other = OutgoingLetter { rfc_message_id: "msg_4.ff@acme.example".into(), ..letter() };
    let boundary = |raw: &str| raw.split("boundary=\"").nth(1).unwrap()[..32].to_owned();
    assert_ne!(boundary(&wire(&letter(), &earlier())), boundary(&wire(&other, &earlier())));
}

fn files() -> Vec<LetterFile> {
    let file = |name: &str, content_type: &str, content: &[u8]| LetterFile {
        name: name.into(),
        content_type: content_type.into(),
        content: content.to_vec(),
        content_id: None,
    };
    vec![
        file("lease.pdf", "application/pdf", b"%PDF-1.4 \x00\xff\n.\r\n"),
        file("notes.txt", "text/plain", b"one\ntwo\r\n\xc3\xa4 is UTF-8\n.\n"),
        file("evil\r\nBcc: eve@x.example.eml", "message/rfc822", b"From: x@y.example\r\n\r\nHi"),
        file("Gr\u{f6}\u{df}e \"1\".html", "text/html\r\nX: y", b"<b>"),
    ]
}

#[test]
fn files_go_with_a_letter_byte_by_byte() {
    let mail = compose(&letter(), None, &earlier(), files(), &KEY);
    assert!(mail.raw.is_ascii());
    let parsed = MessageParser::new().parse(&mail.raw).unwrap();
    let names: Vec<_> = parsed.attachments().map(|file| file.attachment_name().unwrap_or_default()).collect();
    assert_eq!(
        names,
        ["lease.pdf", "notes.txt", "evil Bcc: eve@x.example.eml", "Gr\u{f6}\u{df}e \"1\".html"]
    );
    for (sent, got) in files().iter().zip(parsed.attachments()) {
        assert_eq!(got.contents(), sent.content, "{}", sent.name);
    }
    assert!(parsed.body_text(0).unwrap().starts_with("Dear Ada,"));
    let header = String::from_utf8(mail.raw.clone()).unwrap();
    let (header, _) = header.split_once("\r\n\r\n").unwrap();
    assert!(!header.contains("eve@x.example"));
}

#[test]
fn a_blind_copy_is_in_the_envelope_and_nowhere_else() {
    let copies = Copies {
        to: vec!["bob@customer.example".into()],
        cc: vec!["cleo@b\u{fc}cher.example".into(), "dan@customer.example".into()],
        bcc: vec!["secret@auditor.example".into()],
    };
    let mail = compose(&OutgoingLetter { copies, ..letter() }, None, &earlier(), Vec::new(), &KEY);
    assert_eq!(mail.to, "ada@customer.example");
    assert_eq!(
        mail.copies_to,
        [
            "bob@customer.example",
            "cleo@xn--bcher-kva.example",
            "dan@customer.example",
            "secret@auditor.example"
        ]
    );
    let raw = String::from_utf8(mail.raw).unwrap();
    assert!(!raw.contains("auditor") && !raw.to_lowercase().contains("\r\nbcc:"));
    let parsed = MessageParser::new().parse(raw.as_bytes()).unwrap();
    let addresses = |list: &mail_parser::Address| {
        list.iter().map(|one| one.address().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(addresses(parsed.to().unwrap()), ["ada@customer.example", "bob@customer.example"]);
    assert_eq!(addresses(parsed.cc().unwrap()), ["cleo@xn--bcher-kva.example", "dan@customer.example"]);
}

#[test]
fn a_mail_that_somebody_did_not_have_is_answered_but_not_quoted() {
    let raw = wire(&letter(), &ReplyContext { quotes: false, ..earlier() });
    assert!(raw.contains("In-Reply-To: <two@customer.example>") && raw.contains("Subject: Re: Parcel"));
    assert!(!raw.contains("Where is it?") && !raw.contains("wrote:"));
}

#[test]
fn re_is_said_once() {
    for (given, answers, wanted) in [
        ("Parcel", true, "Re: Parcel"),
        ("RE: Parcel", true, "RE: Parcel"),
        ("re:Parcel", true, "re:Parcel"),
        ("Rechnung", true, "Re: Rechnung"),
        ("ä", true, "Re: ä"),
        ("Parcel", false, "Parcel"),
    ] {
        assert_eq!(subject(given, answers), wanted);
    }
}

#[test]
fn a_long_mail_is_quoted_in_part() {
    let mut earlier = earlier();
    let answered = earlier.answers.as_mut().unwrap();
    answered.text = "x".repeat(QUOTED + 1);
    let raw = wire(&letter(), &earlier);
    let parsed = MessageParser::new().parse(raw.as_bytes()).unwrap();
    let text = parsed.body_text(0).unwrap();
    assert!(text.trim_end().ends_with("> […]") && text.len() < QUOTED + 500, "{}", text.len());
}

#[test]
fn long_chains_are_folded_and_odd_ids_left_out() {
    let chain = (0..19).map(|n| format!("{n}.{}@customer.example", "x".repeat(60))).collect::<Vec<_>>();
    let odd = ["a b", "a>b", "a\r\nBcc: x", "ä@x", ""].map(String::from);
    let longest = "y".repeat(LONGEST_ID + 1);
    let all = odd.into_iter().chain([longest]).chain(chain.clone()).collect();
    let raw = wire(&letter(), &ReplyContext { chain: all, ..earlier() });
    let parsed = MessageParser::new().parse(raw.as_bytes()).unwrap();
    let references = parsed.references().as_text_list().unwrap();
    assert_eq!(references.len(), 20);
    assert_eq!(references[..19], chain);
    assert_eq!(references[19], "two@customer.example");
    assert!(raw.lines().all(|line| line.len() <= 998));
}

proptest! {
    /// proves: MSG-11
    ///
    /// Whatever a customer, an app or an operator has put into a name, a subject, an address or an id.
    #[test]
    fn nothing_from_outside_makes_a_second_header(
        name in "\\PC{0,20}(\r|\n|\r\n|\u{85}|\u{2028})?(Bcc: eve@x.example)?\\PC{0,60}",
        subject in "\\PC{0,90}(\r\n|\n|\r)(Bcc: eve@x.example)?\\PC{0,20}",
        address in "[a-z<>\r\n ,:]{0,20}@[a-z.<>\r\n]{0,20}",
        id in "[ -~]{0,10}(>?\r\n)?Bcc: eve@x.example",
        text in "(\\PC|\r|\n){0,80}",
    ) {
        let mut earlier = earlier();
        let letter = OutgoingLetter { from_name: Some(name.clone()), subject, to: address.clone(), text, ..letter() };
        let answered = earlier.answers.as_mut().unwrap();
        answered.rfc_message_id = Some(id.clone());
        answered.from_name = Some(name);
        answered.from_email = address;
        earlier.chain = vec![id];
        let raw = wire(&letter, &earlier);
        let (header, _) = raw.split_once("\r\n\r\n").unwrap();
        let known = ["From", "To", "Subject", "Date", "Message-ID", "In-Reply-To", "References", LOOP_FIELD,
            "MIME-Version", "Content-Type"];
        let mut seen = Vec::new();
        for line in header.split("\r\n") {
            prop_assert!(!line.contains(['\r', '\n']), "a bare line end: {line:?}");
            if line.starts_with([' ', '\t']) {
                continue;
            }
            let field = line.split(':').next().unwrap();
            prop_assert!(known.contains(&field), "{field:?} is not ours");
            prop_assert!(!seen.contains(&field), "{field} is there twice");
            seen.push(field);
        }
        prop_assert!(!raw.replace("\r\n", "").contains(['\r', '\n']), "a bare line end");
    }
}
