//! Properties of parsing that hold for every mail, friendly or hostile: nothing panics, nothing hangs, and every
//! limit refuses with its sentence.

use proptest::prelude::*;

use super::*;

fn mail(raw: &str) -> ParsedMail {
    parse(raw.as_bytes()).expect("a mail")
}

fn html(body: &str) -> ParsedMail {
    mail(&format!("From: a@b.test\nContent-Type: text/html; charset=utf-8\n\n{body}"))
}

#[test]
fn reads_an_ordinary_mail() {
    let mail = mail(concat!(
        "Received: from x\r\nMessage-ID: <one@shop.test>\r\nFrom: \"Ann Lee\" <Ann@Shop.TEST>\r\n",
        "To: help@acme.test, Bob <bob@acme.test>\r\nCc: c@d.test\r\nDelivered-To: help@acme.test\r\n",
        "Reply-To: reply@shop.test\r\nSubject: =?utf-8?q?Caf=C3=A9_?=\r\n =?utf-8?q?order?=\r\n",
        "In-Reply-To: <c@x>\r\nReferences: <a@x> <b@x>\r\n <c@x>\r\n\r\nHello,\r\n\r\nthanks.\r\n\r\n"
    ));
    assert_eq!(mail.message_id.as_deref(), Some("one@shop.test"));
    assert_eq!(mail.references, ["c@x", "b@x", "a@x"]);
    let from = mail.from.expect("a sender");
    assert_eq!((from.name.as_deref(), from.email.as_str()), (Some("Ann Lee"), "ann@shop.test"));
    assert!(mail.single_from);
    assert_eq!(mail.to.len(), 2);
    assert_eq!(mail.cc[0].email, "c@d.test");
    assert_eq!(mail.delivered_to[0].email, "help@acme.test");
    assert_eq!(mail.reply_to.expect("reply to").email, "reply@shop.test");
    assert_eq!(mail.subject.as_deref(), Some("Café order"));
    assert_eq!(mail.text, "Hello,\n\nthanks.");
    assert!(!mail.automatic);
}

#[test]
fn two_senders_are_not_a_single_sender() {
    assert!(!mail("From: a@b.test, c@d.test\n\nx").single_from);
    assert!(!mail("From: a@b.test\nFrom: c@d.test\n\nx").single_from);
    assert!(!mail("From: <a@b.test> <c@d.test>\n\nx").single_from);
    assert!(!mail("From: team: a@b.test;\n\nx").single_from);
    assert!(!mail("Subject: none\n\nx").single_from);
    assert_eq!(mail("From: a@b.test, c@d.test\n\nx").from.expect("first").email, "a@b.test");
}

#[test]
fn an_address_with_a_line_break_or_two_at_signs_is_none() {
    for from in ["a@b@c", "a b@c", "@c", "a@", "=?utf-8?q?a=0Ab?=@c.test>", "a"] {
        let mail = mail(&format!("From: {from}\n\nx"));
        if let Some(from) = mail.from {
            assert_eq!(from.email.matches('@').count(), 1, "{from:?}");
            assert!(!from.email.contains(char::is_whitespace), "{from:?}");
        }
    }
}

/// Found by fuzzing: written into a header, each would be read as another address.
#[test]
fn an_address_that_a_header_would_change_is_none() {
    for from in ["a\\\\b@c.test", "a@b\\\\c.test", "<a:b@c.test>", "<a\u{fffd}@c.test>"] {
        assert_eq!(mail(&format!("From: {from}\n\nx")).from, None, "{from}");
    }
    // The reader decodes an encoded word, unless it is broken.
    assert_eq!(mail("From: a <=?utf-8?q?b=C>c\n .d<?=e@c.test\n\nx").from, None);
    let odd = mail("From: <o'brien+a=b!{c}/d@sub-domain.test>\n\nx");
    assert_eq!(odd.from.expect("from").email, "o'brien+a=b!{c}/d@sub-domain.test");
}

#[test]
fn names_lose_controls_and_direction_overrides() {
    let mail = mail("From: =?utf-8?q?Ann=0D=0ABcc:_x=E2=80=AE?= <a@b.test>\n\nx");
    assert_eq!(mail.from.expect("from").name.as_deref(), Some("Ann Bcc: x"));
}

#[test]
fn a_subject_is_one_line_of_at_most_500_characters() {
    let long = mail(&format!("Subject: {}\n\nx", "ä".repeat(600)));
    assert_eq!(long.subject.expect("subject").chars().count(), 500);
    let lines = mail("Subject: =?utf-8?q?a=0D=0Ab=00c?=\n\nx");
    assert_eq!(lines.subject.as_deref(), Some("a b c"));
    assert_eq!(mail("Subject:  \nFrom: a@b.test\n\nx").subject, None);
}

#[test]
fn message_ids_are_one_clean_word_or_nothing() {
    assert_eq!(mail("Message-ID: bare@x\n\nx").message_id.as_deref(), Some("bare@x"));
    assert_eq!(mail("Message-ID: <a b>\n\nx").message_id, None);
    let long = format!("Message-ID: <{}>\n\nx", "a".repeat(999));
    assert_eq!(mail(&long).message_id, None);
    let many: String = (0..80).map(|n| format!("<{n}@x> ")).collect();
    let references = mail(&format!("References: {many}\n\nx")).references;
    assert_eq!(references.len(), MAX_REFERENCES);
    assert_eq!(references[0], "79@x");
}

const ALTERNATIVE: &str = "From: a@b.test\nContent-Type: multipart/mixed; boundary=o\n\n--o\n\
    Content-Type: multipart/alternative; boundary=i\n\n--i\nContent-Type: text/plain\n\nplain words\n--i\n\
    Content-Type: text/html\n\n<p>html words <a href=\"https://x.test/?a=1&amp;b=2\">see <b>this</b></a></p>\n\
    --i--\n--o\nContent-Type: application/pdf; name=\"../../a\u{202e}fdp.pdf\"\n\
    Content-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nUERG\n--o\n\
    Content-Type: image/png\nContent-Disposition: inline; filename=logo.png\n\nx\n--o--\n";

#[test]
fn plain_text_wins_and_links_come_from_html() {
    let mail = mail(ALTERNATIVE);
    assert_eq!(mail.text, "plain words");
    assert_eq!(mail.links.len(), 1);
    assert_eq!(mail.links[0].text, "see this");
    assert_eq!(mail.links[0].target, "https://x.test/?a=1&b=2");
}

#[test]
fn attachments_are_named_safely_and_decoded() {
    let mail = mail(ALTERNATIVE);
    assert_eq!(mail.attachments.len(), 2);
    let pdf = &mail.attachments[0];
    assert_eq!((pdf.filename.as_str(), &pdf.content[..]), ("afdp.pdf", &b"PDF"[..]));
    assert!(pdf.is_filed() && !pdf.inline);
    let logo = &mail.attachments[1];
    assert!(logo.inline && !logo.is_filed());
}

#[test]
fn signatures_and_calendars_are_not_filed() {
    let file = |name: &str, content_type: &str| MimeAttachment {
        filename: name.to_owned(),
        content_type: content_type.to_owned(),
        content: vec![0; 20_000].into(),
        inline: false,
        content_id: None,
    };
    assert!(!file("smime.p7s", "application/octet-stream").is_filed());
    assert!(!file("signature.asc", "application/pgp-signature").is_filed());
    assert!(!file("invite.ics", "text/calendar").is_filed());
    assert!(file("big.png", "image/png").is_filed());
}

#[test]
fn file_names_are_never_empty_never_paths_and_keep_their_extension() {
    assert_eq!(file_name::clean(None, "application/pdf"), "attachment.pdf");
    assert_eq!(file_name::clean(Some("../.."), "image/png"), "attachment.png");
    assert_eq!(file_name::clean(Some("C:\\x\\a\r\nb.txt"), "text/plain"), "a b.txt");
    let long = file_name::clean(Some(&format!("{}.docx", "x".repeat(400))), "a/b");
    assert_eq!((long.chars().count(), long.ends_with(".docx")), (200, true));
}

#[test]
fn a_mail_inside_a_mail_is_one_attachment() {
    let mail = mail(
        "From: a@b.test\nContent-Type: multipart/mixed; boundary=o\n\n--o\n\nsee this\n--o\n\
         Content-Type: message/rfc822\n\nFrom: x@y.test\nSubject: inner\n\ninner words\n--o--\n",
    );
    assert_eq!(mail.text, "see this");
    assert_eq!(mail.attachments[0].filename, "attachment.eml");
    assert!(mail.attachments[0].content.ends_with(b"inner words"));
}

#[test]
fn a_multipart_without_its_boundary_is_kept_as_text() {
    let mail = mail("From: a@b.test\nContent-Type: multipart/mixed; boundary=o\n\nwords\n");
    assert_eq!(mail.text, "words");
}

#[test]
fn charsets_and_encodings_are_decoded() {
    let latin = b"From: a@b.test\nContent-Type: text/plain; charset=iso-8859-1\n\nCaf\xe9";
    assert_eq!(parse(latin).expect("mail").text, "Café");
    assert_eq!(parse(b"From: a@b.test\n\nCaf\xe9").expect("mail").text, "Café");
    let quoted = "From: a@b.test\nContent-Transfer-Encoding: quoted-printable\n\nCaf=C3=A9 a=\nb 1=2=";
    assert_eq!(mail(quoted).text, "Café ab 1=2=");
}

#[test]
fn text_has_no_controls_but_tab_and_line_feed() {
    assert_eq!(mail("From: a@b.test\n\n\n  a\0\u{7}\tb\r\nc\rd\n\n").text, "  a\tb\nc\nd");
}

#[test]
fn html_becomes_clean_text() {
    let mail = html(concat!(
        "<html><head><title>t</title><style>p{}</style></head><body><p>Dear <b>team</b>,</p>",
        "<p>see <a href='https://x.test'>the page</a> &amp; 1 &lt; 2.<br>next</p><ul><li>one<li>two</ul>",
        "<table><tr><td>Item</td><td>3</td></tr></table><script>x()</script><!-- no --></body></html>"
    ));
    assert_eq!(mail.text, "Dear team,\n\nsee the page & 1 < 2.\nnext\n- one\n- two\n\nItem 3");
}

#[test]
fn quoted_history_in_html_is_marked() {
    let gmail = html(
        "<div>New words</div><div class=\"gmail_quote\"><div class=gmail_attr>On 3 May 2026, Ann wrote:</div><blockquote class=\"gmail_quote\">old<br>words</blockquote></div>",
    );
    assert_eq!(gmail.text, "New words\nOn 3 May 2026, Ann wrote:\n\n> old\n> words");
    let indent = html("hello<blockquote style=\"margin:0 0 0 40px\">my own words</blockquote>");
    assert_eq!(indent.text, "hello\nmy own words");
    let outlook = html(
        "New<div id=appendonsend></div><hr><div id=divRplyFwdMsg><b>From:</b> A<br><b>Sent:</b> B</div>",
    );
    assert!(outlook.text.contains("________________________________\nFrom: A\nSent: B"), "{}", outlook.text);
}

#[test]
fn automatic_mail_is_told_by_its_header() {
    for header in [
        "Auto-Submitted: auto-replied",
        "X-Autoreply: yes",
        "X-Autorespond: vacation",
        "Precedence: Bulk",
        "Precedence: auto_reply",
        "Return-Path: <>",
        "List-Id: <l.x.test>",
        "List-Unsubscribe: <mailto:u@x.test>",
        "Content-Type: multipart/report; report-type=delivery-status; boundary=b",
        "X-Auto-Response-Suppress: All\nSubject: Automatic reply: Hello",
    ] {
        assert!(mail(&format!("From: a@b.test\n{header}\n\nx")).automatic, "{header}");
    }
    for header in [
        "Auto-Submitted: no",
        "Auto-Submitted: no (really)",
        "Precedence: normal",
        "Return-Path: <a@b.test>",
        "X-Auto-Response-Suppress: All\nSubject: My order",
    ] {
        assert!(!mail(&format!("From: a@b.test\n{header}\n\nx")).automatic, "{header}");
    }
}

/// Rows hold these, and a mail that comes again is known by them.
#[test]
fn a_mail_has_the_same_fingerprint_for_ever() {
    let mail = mail("From: a@b.test\r\nTo: c@d .ef\r\nSubject: Hi\r\n\r\nHello\r\nthere\r\n");
    let hex = |hash: [u8; 32]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let fingerprint = "563f8baac6ba97c17141cb3d1f2c3d0d87345ab86333b30887dd0ef67af02983";
    let heading = "672987f67ef871d1752441e1dfe04a8c4ecdbec5b42c3c8fe30a119eab414255";
    assert_eq!((hex(mail.fingerprint), hex(mail.heading)), (fingerprint.into(), heading.into()));
}

#[test]
fn the_fingerprint_follows_the_content_not_the_path() {
    let one = mail("Message-ID: <a@x>\nFrom: a@b.test\nDate: d\nSubject: s\n\nbody\n").fingerprint;
    let relayed = "Received: from y\r\nDelivered-To: z@z\r\nDKIM-Signature: v=1\r\nMessage-ID: <a@x>\r\n\
                   From: a@b.test\r\nDate: d\r\nSubject: s\r\n\r\nbody\r\n";
    assert_eq!(one, mail(relayed).fingerprint);
    for other in [
        "Message-ID: <b@x>\nFrom: a@b.test\nDate: d\nSubject: s\n\nbody\n",
        "Message-ID: <a@x>\nFrom: a@b.test\nDate: e\nSubject: s\n\nbody\n",
        "Message-ID: <a@x>\nFrom: a@b.test\nDate: d\nSubject: s\n\nbody2\n",
        "Message-ID: <a@x>\nFrom: a@b.test\nDate: d\nSubject: s\nSubject: t\n\nbody\n",
    ] {
        assert_ne!(one, mail(other).fingerprint, "{other}");
    }
}

#[test]
fn hostile_shapes_are_refused() {
    let mut deep = String::from("From: a@b.test\n");
    for n in 0..1_000 {
        deep += &format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n");
    }
    assert_eq!(parse(deep.as_bytes()), Err(Refusal::TooDeep));
    let parts = "--b\n\nx\n".repeat(10_000);
    let many = format!("From: a@b.test\nContent-Type: multipart/mixed; boundary=b\n\n{parts}");
    assert_eq!(parse(many.as_bytes()), Err(Refusal::TooManyParts));
    let header = format!("From: a@b.test\nX: {}\n\nx", "y".repeat(MAX_HEADER_BYTES));
    assert_eq!(parse(header.as_bytes()), Err(Refusal::HeaderTooLarge));
    let people = format!("From: a@b.test\nTo: {}\n\nx", "a@b.test, ".repeat(1_001));
    assert_eq!(parse(people.as_bytes()), Err(Refusal::TooManyAddresses));
    let hops = format!("{}From: a@b.test\n\nx", "Received: by x\n".repeat(51));
    assert_eq!(parse(hops.as_bytes()), Err(Refusal::Loop));
    assert_eq!(parse(b"just words\n\nmore"), Err(Refusal::NotMail));
    assert_eq!(parse(b""), Err(Refusal::NotMail));
}

#[test]
fn ten_thousand_nested_tags_are_read() {
    for tag in ["div", "table", "blockquote type=cite", "b", "ul", "table><tr><td"] {
        let body = format!("{}words", format!("<{tag}>").repeat(10_000));
        assert!(html(&body).text.contains("words"), "{tag}");
    }
}

#[test]
fn broken_html_never_hides_the_rest_behind_an_open_quote() {
    let mail = html("<p>before</p><a href=\"https://x.test>link</a> after");
    assert!(mail.text.contains("before") && mail.text.contains("after"), "{}", mail.text);
}

proptest! {
    #[test]
    fn parse_never_panics_on_bytes(raw in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = parse(&raw);
    }

    #[test]
    fn parse_never_panics_on_pieces_of_mail(
        pieces in proptest::collection::vec(prop::sample::select(PIECES), 0..60)
    ) {
        if let Ok(mail) = parse(pieces.concat().as_bytes()) {
            prop_assert!(!mail.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(mail.links.len() <= 200);
            for file in &mail.attachments {
                prop_assert!(!file.filename.is_empty() && !file.filename.contains(['/', '\\']));
                prop_assert!(file.filename.chars().count() <= 200);
            }
        }
    }
}

const PIECES: &[&str] = &[
    "From: ",
    "To: ",
    "Subject: ",
    "Message-ID: ",
    "References: ",
    "Content-Type: ",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "\t",
    "a@b.test",
    "<",
    ">",
    "\"",
    "(",
    ")",
    "\\",
    ",",
    ";",
    ":",
    "=",
    "*0*=",
    "*1=",
    "?",
    "=?utf-8?q?",
    "=?utf-8?b?",
    "?=",
    "=C3=",
    "QUFB",
    "multipart/mixed; boundary=b",
    "multipart/alternative; boundary=\"c\"",
    "--b\n",
    "--b--\n",
    "--c\n",
    "--c--",
    "text/html",
    "text/plain; charset=",
    "utf-7",
    "big5",
    "Content-Transfer-Encoding: base64\n",
    "Content-Transfer-Encoding: quoted-printable\n",
    "Content-Disposition: attachment; filename*=utf-8''a%00b/..",
    "message/rfc822",
    "<div>",
    "</div>",
    "<p>",
    "<blockquote type=cite>",
    "</blockquote>",
    "<li>",
    "<ul>",
    "<table>",
    "<td>",
    "<pre>",
    "</pre>",
    "<a href='x'>",
    "</a>",
    "<!--",
    "-->",
    "<style>",
    "</style>",
    "&amp;",
    "&#x110000;",
    "&#0;",
    "ä",
    "\u{202e}",
    "\0",
    "日本",
];
