//! Formatted mail: what the editor of a page hands in is kept, shown and sent in a form of ours, in both parts of the mail, and
//! is taken back as it was. Whatever does not know of it goes by the text.

use mail_parser::MimeHeaders;
use rookery_core::workspace::people::Role;
use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::writing::{Composer, inbox, leaves, reply, write};
use rookery_world::{World, story};

use super::writing_attacks::upload;

const WRITTEN: &str = "<div>Dear Ada,</div><div><br></div><div>this is <b>what we agreed</b>:</div>\
                       <ul><li>two nights, <a href=\"https://inn.example/12\">room 12</a></li><li>breakfast</li></ul>\
                       <blockquote>When can we come?</blockquote><div>Any time.</div>";
const WORDS: &str = "Dear Ada,\n\nthis is what we agreed:\n- two nights, room 12 <https://inn.example/12>\n- breakfast\n\
                     > When can we come?\nAny time.";

/// The newest mail that left, and its two parts.
struct Left {
    plain: String,
    html: String,
}

fn left(world: &World) -> Left {
    let mails = world.outbox.mails();
    let raw = &mails.last().expect("a mail left").raw;
    let mail = mail_parser::MessageParser::default().parse(raw).expect("a mail");
    Left {
        plain: mail.body_text(0).expect("a text").replace("\r\n", "\n"),
        html: mail.body_html(0).expect("HTML").replace("\r\n", "\n"),
    }
}

#[tokio::test]
async fn a_formatted_reply_leaves_in_both_parts_and_is_shown_as_it_left() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Stay", "When can we come?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.formatted(WRITTEN);
        let saved = composer.press(&mia, &write(id), ("do", "save")).await;
        let composer = Composer::open(&mia, saved.location()).await;
        assert_eq!((composer.get("html"), composer.get("body")), (WRITTEN, WORDS), "both are kept");
        composer.set("rich", "1").press(&mia, &write(id), ("do", "send")).await;
        leaves(world).await;
        assert_eq!(world.outbox.letters()[0].text, WORDS);
        let mail = left(world);
        assert!(mail.plain.starts_with(&format!("{WORDS}\n\nOn ")), "{}", mail.plain);
        for part in
            ["<b>what we agreed</b>", "<a href=\"https://inn.example/12\"", ">breakfast</li>", "style="]
        {
            assert!(mail.html.contains(part), "{part}: {}", mail.html);
        }
        // What is quoted is text, whatever it was.
        assert_eq!(mail.html.matches("<blockquote type=\"cite\">").count(), 1, "{}", mail.html);

        let page = mia.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("<b>what we agreed</b>") && page.contains("Any time."), "{page}");
        assert!(!page.contains("<iframe"), "it is on the page itself");
        let message = world.outbox.letters()[0].message;
        let apart = mia.get(&format!("/messages/{message}/html")).await.page();
        assert!(apart.contains("<b>what we agreed</b>"), "{apart}");
    })
    .await;
}

#[tokio::test]
async fn what_says_no_more_than_its_text_leaves_as_text_always_did() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let mia = world.browser(acme.id, acme.owner).await;
        for (who, rich) in [("ada", true), ("bob", false)] {
            let id = acme.mail(help, &format!("{who}@customer.example"), "Hi", "Hello?").await;
            let composer = Composer::open(&mia, &reply(id)).await;
            let composer = if rich {
                composer.formatted("<div>Just words.</div><div><br></div><div>Twice.</div>")
            } else {
                composer
            };
            composer.set("body", "Just words.\n\nTwice.").press(&mia, &write(id), ("do", "send")).await;
        }
        leaves(world).await;
        let [ada, bob] = &world.outbox.mails()[..] else { panic!("two mails") };
        let body = |raw: &[u8]| {
            let mail = mail_parser::MessageParser::default().parse(raw).unwrap();
            let html = mail.body_html(0).unwrap().replace("ada@", "bob@");
            (mail.body_text(0).unwrap().replace("ada@", "bob@"), html)
        };
        assert_eq!(body(&ada.raw), body(&bob.raw));
        assert!(body(&ada.raw).1.contains("<p dir=\"auto\">Just words.</p>"), "{}", body(&ada.raw).1);
        assert_eq!(world.scalar("select count(*) from message_html").await, 0);
    })
    .await;
}

#[tokio::test]
async fn what_a_page_claims_is_cleaned_and_without_the_editor_the_text_holds() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let mia = world.browser(acme.id, acme.owner).await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello?").await;
        let hostile = "<div style=\"color:red\" class=\"x\">Hello <b onclick=\"x()\">Ada</b><script>x()</script>\
                       <a href=\"javascript:x()\">click</a><img src=\"https://tracker.example/p.gif\"></div>";
        let composer = Composer::open(&mia, &reply(id)).await.formatted(hostile);
        let saved = composer.press(&mia, &write(id), ("do", "save")).await;
        let composer = Composer::open(&mia, saved.location()).await;
        assert_eq!(composer.get("html"), "<div>Hello <b>Ada</b>click</div>");
        assert_eq!(composer.get("body"), "Hello Adaclick");
        // A page without script sends the HTML that it was given, and no flag: what was typed is what is sent.
        let typed = composer.set("body", "Hello Ada, only words.");
        let saved = typed.press(&mia, &write(id), ("do", "save")).await;
        let composer = Composer::open(&mia, saved.location()).await;
        assert_eq!((composer.get("html"), composer.get("body")), ("", "Hello Ada, only words."));
        // An older version of the service changes the body alone.
        let saved = composer.formatted("<div><b>Hi</b></div>").press(&mia, &write(id), ("do", "save")).await;
        world.sql("update written_drafts set body = 'Typed there.'").await;
        let composer = Composer::open(&mia, saved.location()).await;
        assert_eq!((composer.get("html"), composer.get("body")), ("", "Typed there."));
        // More than is kept is refused with a sentence, and the words are kept without it.
        let large = format!("<b>{}</b>", "x".repeat(300_000));
        let refused = composer.formatted(&large).press(&mia, &write(id), ("do", "save")).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("too much formatting"), "{}", refused.html);
        let composer = Composer::open(&mia, &reply(id)).await;
        assert_eq!((composer.get("html"), composer.get("body")), ("", "(the words of the page)"));
    })
    .await;
}

#[tokio::test]
async fn undo_gives_the_formatting_back_and_a_changed_draft_leaves_as_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let tom = acme.person("Tom", Role::Member).await;
        let (mia, tom) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        let id = acme.mail(help, "ada@customer.example", "Stay", "When can we come?").await;
        let sends = async |composer: Composer| {
            let sent = composer.press(&mia, &write(id), ("do", "send")).await;
            let location = sent.location();
            location.split("of=").nth(1).expect("a message").split('#').next().unwrap().to_owned()
        };
        let message = sends(Composer::open(&mia, &reply(id)).await.formatted(WRITTEN)).await;
        let undone = mia.post(&format!("/messages/{message}/undo"), &[]).await;
        let composer = Composer::open(&mia, undone.location()).await;
        assert_eq!((composer.get("html"), composer.get("body")), (WRITTEN, WORDS));

        // A colleague stops it and changes a word: the formatting says something else now, and the text holds.
        let message = sends(composer.set("rich", "1")).await;
        tom.post(&format!("/messages/{message}/undo"), &[]).await;
        let changed = WORDS.replace("two nights", "three nights");
        let fields = [("version", ""), ("body", changed.as_str())];
        let approved = tom.post(&format!("/messages/{message}/approve"), &fields).await;
        assert_eq!(approved.status, 303, "{}", approved.html);
        leaves(world).await;
        let mail = left(world);
        assert!(mail.plain.starts_with(&changed), "{}", mail.plain);
        assert!(mail.html.contains("three nights") && !mail.html.contains("<b>"), "{}", mail.html);
        for path in [format!("/messages/{message}/html"), format!("/conversations/{id}")] {
            let shown = mia.get(&path).await.page();
            assert!(shown.contains("three nights") && !shown.contains("<b>what we agreed"), "{shown}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_signature_and_a_checklist_leave_under_the_formatting_and_a_secure_message_is_only_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let mia = world.browser(acme.id, acme.owner).await;
        let fields = [("name", "Mia"), ("zone", "UTC"), ("theme", "auto"), ("keys", "on"), ("undo", "20")];
        let signed = [&fields[..], &[("signature", "Mia\nAcme, https://acme.example")]].concat();
        assert_eq!(mia.post("/profile", &signed).await.status, 303);
        let id = acme.mail(help, "ada@customer.example", "Stay", "When can we come?").await;
        let composer =
            Composer::open(&mia, &reply(id)).await.formatted("<div>Please send <b>these</b>.</div>");
        composer.set("documents", "Passport").press(&mia, &write(id), ("do", "send")).await;
        leaves(world).await;
        let mail = left(world);
        let (at, under) = (mail.html.find("<b>these</b>").unwrap(), mail.html.find("Passport").unwrap());
        assert!(at < under && mail.html.contains("<a href=\"https://acme.example\""), "{}", mail.html);
        assert!(mail.html.contains("/upload/") && mail.plain.contains("/upload/"), "its link leaves");
        let message = world.outbox.letters()[0].message;
        for path in [format!("/messages/{message}/html"), format!("/conversations/{id}")] {
            let shown = mia.get(&path).await.page();
            assert!(shown.contains("<b>these</b>"), "{shown}");
            assert!(!shown.contains("/upload/"), "the team does not get the link: {shown}");
        }

        let id = acme.mail(help, "bob@customer.example", "Secret", "Hello?").await;
        let composer = Composer::open(&mia, &reply(id)).await.formatted("<div>A <b>secret</b></div>");
        let sealed = composer.set("secure", "1").set("body", "A secret");
        sealed.press(&mia, &write(id), ("do", "save")).await;
        // Nor does what was sent stay in the row of its draft.
        assert_eq!(world.scalar("select count(*) from written_drafts where html <> ''").await, 0);
    })
    .await;
}

const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\xff\n.\r\n";

fn shows(file: &str) -> String {
    format!("<div>See <img alt=\"The door\" height=\"20\" src=\"cid:{file}\" width=\"30\"></div>")
}

#[tokio::test]
async fn a_picture_leaves_within_the_text_and_is_shown_where_it_stood() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let tom = acme.person("Tom", Role::Member).await;
        let (mia, tom) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        let id = acme.mail(help, "ada@customer.example", "Door", "Which door?").await;
        let within = format!("{}/files?quiet=1&inline=1", write(id));
        let composer = Composer::open(&mia, &reply(id)).await;
        for (name, bytes) in [("a.png", &b"<svg onload='x()'/>"[..]), ("b.png", &[b'x'; 100][..])] {
            let refused = upload(&mia, &within, &composer, &[(name, "image/png", bytes)]).await;
            assert_eq!(refused.status, 400, "its bytes say what it is");
        }
        let large = [PICTURE, &vec![0; 5 << 20]].concat();
        assert_eq!(upload(&mia, &within, &composer, &[("c.png", "image/png", &large)]).await.status, 400);
        assert_eq!(world.scalar("select count(*) from written_draft_files").await, 0);
        let composer = Composer::open(&mia, &reply(id)).await;
        let there = upload(&mia, &within, &composer, &[("door.png", "text/plain", PICTURE)]).await;
        assert_eq!(there.status, 204, "{}", there.html);
        let file = there.headers["x-draft-file"].to_str().unwrap();
        let composer = Composer::open(&mia, &reply(id)).await;
        let beside = format!("{}/files", write(id));
        upload(&mia, &beside, &composer, &[("lease.txt", "text/plain", b"Lease")]).await;
        let shown = mia.get(&format!("/pictures/{file}")).await;
        assert_eq!((shown.status, shown.headers["content-type"].to_str().unwrap()), (200, "image/png"));
        assert_eq!(tom.get(&format!("/pictures/{file}")).await.status, 404, "it is not sent yet");

        // A picture of no file of this draft is the words that stand for it.
        let foreign = "<div><img alt=\"Other\" src=\"cid:dfl_0000000000001\"></div>";
        let composer = Composer::open(&mia, &reply(id)).await;
        let composer = composer.formatted(&format!("{}{foreign}", shows(file)));
        let saved = composer.press(&mia, &write(id), ("do", "save")).await;
        let composer = Composer::open(&mia, saved.location()).await;
        assert_eq!(composer.get("html"), format!("{}<div>[Other]</div>", shows(file)));
        assert_eq!(composer.get("body"), "See [The door]\n[Other]");
        assert!(composer.html.contains(">lease.txt<") && !composer.html.contains("door.png"));
        composer.set("rich", "1").press(&mia, &write(id), ("do", "send")).await;
        leaves(world).await;

        let raw = &world.outbox.mails()[0].raw;
        let mail = mail_parser::MessageParser::default().parse(raw).unwrap();
        let part = mail.parts.iter().find(|part| part.content_id().is_some()).expect("a picture");
        assert_eq!((part.contents(), part.attachment_name()), (PICTURE, Some("door.png")));
        let html = mail.body_html(0).unwrap();
        let named = format!("src=\"cid:{}\"", part.content_id().unwrap());
        assert!(html.contains(&named) && html.contains("alt=\"The door\""), "{html}");
        assert!(mail.body_text(0).unwrap().starts_with("See [The door]\r\n[Other]"));
        assert!(String::from_utf8_lossy(raw).contains("multipart/related"));

        let message = world.outbox.letters()[0].message;
        let source = format!("/messages/{message}/files/0/preview");
        let page = tom.get(&format!("/conversations/{id}")).await.page();
        assert_eq!(page.matches(&format!("src=\"{source}\"")).count(), 1, "{page}");
        assert!(page.contains("lease.txt") && !page.contains("door.png"), "it is not listed as a file");
        assert_eq!(tom.get(&source).await.status, 200);
        let apart = tom.get(&format!("/messages/{message}/html")).await.page();
        assert!(apart.contains(&source), "{apart}");
        let key = acme.key("bot", "read", rookery_world::Mode::Live).await;
        let read = key.conversation(id).await.to_string();
        assert!(read.contains("door.png") && read.contains("lease.txt"), "programs see both");
    })
    .await;
}

#[tokio::test]
async fn undo_brings_pictures_back_and_those_that_were_taken_out_stay_here() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let mia = world.browser(acme.id, acme.owner).await;
        let id = acme.mail(help, "ada@customer.example", "Door", "Which door?").await;
        let within = format!("{}/files?quiet=1&inline=1", write(id));
        let composer = Composer::open(&mia, &reply(id)).await;
        let there = upload(&mia, &within, &composer, &[("door.png", "image/png", PICTURE)]).await;
        let file = there.headers["x-draft-file"].to_str().unwrap();
        let composer = Composer::open(&mia, &reply(id)).await.formatted(&shows(file));
        let sent = composer.press(&mia, &write(id), ("do", "send")).await;
        let message = sent.location().split("of=").nth(1).unwrap().split('#').next().unwrap();
        let undone = mia.post(&format!("/messages/{message}/undo"), &[]).await;
        let composer = Composer::open(&mia, undone.location()).await;
        let again = composer.get("html").split("cid:").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert_eq!(composer.get("html"), shows(&again));
        assert_eq!(mia.get(&format!("/pictures/{again}")).await.status, 200);
        // While one writes it stays, so that undo finds it. It does not leave.
        let composer = composer.formatted("<div><b>No</b> door</div>");
        composer.press(&mia, &write(id), ("do", "send")).await;
        leaves(world).await;
        let raw = &world.outbox.mails()[0].raw;
        let mail = mail_parser::MessageParser::default().parse(raw).unwrap();
        assert_eq!(mail.attachments().count(), 0);
        assert!(!String::from_utf8_lossy(raw).contains("door.png"));
    })
    .await;
}

#[tokio::test]
async fn pictures_that_were_taken_out_make_room_for_others() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let mia = world.browser(acme.id, acme.owner).await;
        let id = acme.mail(help, "ada@customer.example", "Doors", "Which door?").await;
        let within = format!("{}/files?quiet=1&inline=1", write(id));
        let put = async || {
            let composer = Composer::open(&mia, &reply(id)).await;
            upload(&mia, &within, &composer, &[("door.png", "image/png", PICTURE)]).await
        };
        for _ in 0..20 {
            assert_eq!(put().await.status, 204);
        }
        // Nothing of them is shown, so they make room.
        assert_eq!(put().await.status, 204);
        assert_eq!(world.scalar("select count(*) from written_draft_files").await, 1);
    })
    .await;
}

/// A picture for a signature, as the editor sends it.
async fn puts(browser: &Browser<'_>, path: &str, bytes: &[u8]) -> Shown {
    let head = "--b0und\r\nContent-Disposition: form-data; name=\"file\"; filename=\"logo.png\"\r\n\
                Content-Type: image/png\r\n\r\n";
    let body = [head.as_bytes(), bytes, b"\r\n--b0und--\r\n"].concat();
    let request = browser.request(reqwest::Method::POST, path).header("origin", browser.origin());
    let request = request.header("content-type", "multipart/form-data; boundary=b0und");
    browser.send(request.body(body)).await
}

#[tokio::test]
async fn a_formatted_signature_leaves_in_both_parts_with_its_logo_and_undo_takes_it_off() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let tom = acme.person("Tom", Role::Member).await;
        let (mia, tom) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        let page = format!("/settings/signatures/{help}");
        let pictures = format!("{page}/pictures");
        assert_eq!(puts(&tom, &pictures, PICTURE).await.status, 403);
        assert_eq!(puts(&mia, &pictures, b"<svg onload='x()'/>").await.status, 400);
        let large = [PICTURE, &vec![0; 200 << 10]].concat();
        assert!(puts(&mia, &pictures, &large).await.html.contains("can be up to 200 KB"));
        let there = puts(&mia, &pictures, PICTURE).await;
        assert_eq!(there.status, 204, "{}", there.html);
        let logo = there.headers["x-draft-file"].to_str().unwrap().to_owned();
        assert_eq!(tom.get(&format!("/pictures/{logo}")).await.status, 200, "he signs with it too");
        let picture = format!("<img alt=\"Acme\" src=\"cid:{logo}\">");
        let signs = async |path: &str, html: &str, fields: &[(&str, &str)]| {
            let typed = [("signature", "(the words of the page)"), ("html", html), ("rich", "1")];
            mia.post(path, &[fields, &typed].concat()).await
        };
        let three = format!("<b>x</b>{}", picture.repeat(3));
        assert_eq!(signs(&page, &three, &[]).await.status, 400);
        let hostile = format!(
            "<div onclick=\"x()\"><b>{{{{inbox.name}}}}</b> desk</div><div style=\"x\">{picture}</div>"
        );
        assert_eq!(signs(&page, &hostile, &[]).await.status, 303);

        let id = acme.mail(help, "ada@customer.example", "Stay", "When can we come?").await;
        let composer = Composer::open(&mia, &reply(id)).await;
        assert!(composer.html.contains("<b>Help</b> desk"), "it is seen while writing: {}", composer.html);
        assert!(composer.html.contains(&format!("src=\"/pictures/{logo}\"")), "{}", composer.html);
        let sent = composer.set("body", "Any  time.").press(&mia, &write(id), ("do", "send")).await;
        let message = sent.location().split("of=").nth(1).unwrap().split('#').next().unwrap();
        let undone = mia.post(&format!("/messages/{message}/undo"), &[]).await;
        let composer = Composer::open(&mia, undone.location()).await;
        assert_eq!((composer.get("html"), composer.get("body")), ("", "Any  time."), "without the signature");
        assert_eq!(world.scalar("select count(*) from written_draft_files").await, 0);
        let written = composer.formatted("<div>Any <i>time</i>.</div>");
        written.press(&mia, &write(id), ("do", "send")).await;
        leaves(world).await;
        assert_eq!(world.outbox.letters()[0].text, "Any time.\n\nHelp desk\n[Acme]");
        let mail = left(world);
        assert!(
            mail.html.contains("Any <i>time</i>.") && mail.html.contains("<b>Help</b> desk"),
            "{}",
            mail.html
        );
        let raw = world.outbox.mails()[0].raw.clone();
        let parsed = mail_parser::MessageParser::default().parse(&raw).unwrap();
        let part = parsed.parts.iter().find(|part| part.content_id().is_some()).expect("a logo");
        assert_eq!((part.contents(), part.attachment_name()), (PICTURE, Some("logo.png")));
        assert!(mail.html.contains(&format!("src=\"cid:{}\"", part.content_id().unwrap())), "{}", mail.html);
        let timeline = tom.get(&format!("/conversations/{id}")).await.page();
        assert!(timeline.contains("<b>Help</b> desk") && !timeline.contains("logo.png"), "{timeline}");

        // Text above it makes no difference, and a page without the editor keeps the formatting with the text.
        let text = "{{inbox.name}} desk\r\n[Acme]";
        mia.post(&page, &[("signature", text), ("html", "")]).await;
        let answer = async |words: &str| {
            let composer = Composer::open(&mia, &reply(id)).await.set("body", words);
            composer.press(&mia, &write(id), ("do", "send")).await;
            leaves(world).await;
            left(world)
        };
        let mail = answer("See you.\n\n- Mia").await;
        assert!(mail.plain.starts_with("See you.\n\n- Mia\n\nHelp desk\n[Acme]\n"), "{}", mail.plain);
        assert!(
            mail.html.contains("<b>Help</b> desk") && mail.html.contains("src=\"cid:sgf_"),
            "{}",
            mail.html
        );

        // One's own goes first, and shows no picture of somebody else's signature.
        let own = [("name", "Mia"), ("zone", "UTC"), ("theme", "auto"), ("undo", "20")];
        let html = format!("<div><i>Mia</i> {picture}</div>");
        assert_eq!(signs("/profile", &html, &own).await.status, 303);
        let mail = answer("Yes.").await;
        assert!(mail.plain.starts_with("Yes.\n\nMia [Acme]\n"), "{}", mail.plain);
        assert!(mail.html.contains("<i>Mia</i> [Acme]") && !mail.html.contains("<img"), "{}", mail.html);
        // A node of the version before changes the text alone.
        world.sql("update people set signature = 'Typed there.'").await;
        let mail = answer("No.").await;
        assert!(mail.plain.starts_with("No.\n\nTyped there.\n"), "{}", mail.plain);
        assert!(mail.html.contains("Typed there.") && !mail.html.contains("<i>"), "{}", mail.html);

        // Of pictures that nobody was ever shown the bytes go too. The logo may be in mail that was sent.
        let doomed = "select count(*) from doomed_files";
        let before = world.scalar(doomed).await;
        for _ in 0..11 {
            assert_eq!(puts(&mia, &pictures, PICTURE).await.status, 204);
        }
        assert_eq!(world.scalar("select count(*) from signature_files").await, 11);
        assert_eq!(world.scalar(doomed).await, before + 1);
        mia.post(&page, &[("signature", "Bye")]).await;
        assert_eq!(world.scalar(doomed).await, before + 11);
        assert_eq!(world.scalar("select count(*) from mailboxes where signature_html is not null").await, 0);
        assert_eq!(world.scalar("select count(*) from signature_files").await, 0);
    })
    .await;
}
