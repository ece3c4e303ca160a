//! Attacks on writing: files, names that are markup or headers, other people's drafts and inboxes, and limits.

use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::writing::{Composer, inbox, leaves, reply, write};
use rookery_world::story;

/// A form with files, as browsers send it.
pub async fn upload(
    browser: &Browser<'_>,
    path: &str,
    composer: &Composer,
    files: &[(&str, &str, &[u8])],
) -> Shown {
    let mut body = Vec::new();
    for name in ["draft", "version", "kind", "seen", "about", "page", "save", "to", "cc", "bcc", "body"] {
        let value = composer.get(name);
        body.extend_from_slice(
            format!("--b0und\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                .as_bytes(),
        );
    }
    for (name, kind, content) in files {
        let head = format!(
            "--b0und\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b0und--\r\n");
    let request = browser.request(reqwest::Method::POST, path).header("origin", browser.origin());
    let request = request.header("content-type", "multipart/form-data; boundary=b0und");
    browser.send(request.body(body)).await
}

#[tokio::test]
async fn files_go_with_the_mail_byte_by_byte_and_the_same_on_every_try() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "See the files.");
        let files = format!("{}/files", write(id));
        let content: Vec<u8> = (0..70_000u32).map(|n| (n * 31 % 251) as u8).collect();
        let shown = upload(
            &mia,
            &files,
            &composer,
            &[("../lease.pdf", "application/pdf", &content), ("b.txt", "text/plain", b"b\n")],
        )
        .await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        let composer = Composer::open(&mia, shown.location()).await;
        assert_eq!(composer.get("body"), "See the files.", "the words came with them");
        assert!(composer.html.contains(">lease.pdf<") && composer.html.contains(">b.txt<"));
        let button = composer.html.split("name=\"drop\" value=\"").nth(2).unwrap().split('"').next().unwrap();
        let shown = composer.press(&mia, &write(id), ("drop", button)).await;
        let composer = Composer::open(&mia, shown.location()).await;
        assert!(composer.html.contains(">lease.pdf<") && !composer.html.contains(">b.txt<"));
        composer.press(&mia, &write(id), ("do", "send")).await;
        world.outbox.answers(rookery_base::relay::mailer::Handover::Later);
        leaves(world).await;
        world.outbox.answers(rookery_base::relay::mailer::Handover::Accepted);
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        let [first, again] = &world.outbox.mails()[..] else { panic!("two tries") };
        assert_eq!(first, again);
        let parsed = mail_parser::MessageParser::new().parse(&first.raw).unwrap();
        let file = parsed.attachments().next().unwrap();
        assert_eq!((file.contents().len(), file.contents() == content), (content.len(), true));
        let key = acme.key("bot", "read", rookery_world::Mode::Live).await;
        let read = key.conversation(id).await;
        let ours =
            read["timeline"].as_array().unwrap().iter().find(|item| item["direction"] == "outbound").unwrap();
        assert_eq!(
            ours["attachments"],
            json!([{ "filename": "lease.pdf", "contentType": "application/pdf", "size": 70_000 }])
        );
        // The sweep two days later takes what was dropped and nothing that is named.
        world.wait(chrono::TimeDelta::days(3));
        world.work().await;
        let blob: String =
            sqlx::query_scalar("select attachments -> 0 ->> 'blob' from messages where attachments <> '[]'")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(world.app.blobs.get(&blob).await.unwrap(), content);
    })
    .await;
}

#[tokio::test]
async fn more_than_a_mail_may_have_is_refused_and_nothing_of_it_stays() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Big");
        let files = format!("{}/files", write(id));
        let large = vec![7u8; 13 << 20];
        assert_eq!(
            upload(&mia, &files, &composer, &[("one.bin", "application/octet-stream", &large)]).await.status,
            303
        );
        let before = world.files();
        let composer = Composer::open(&mia, &reply(id)).await;
        let refused = upload(
            &mia,
            &format!("{files}?quiet=1"),
            &composer,
            &[("two.bin", "application/octet-stream", &large)],
        )
        .await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("at most 18 MB together"), "{}", refused.html);
        assert_eq!(world.files(), before);
    })
    .await;
}

#[tokio::test]
async fn names_and_subjects_that_are_markup_or_headers_stay_words() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let from = "=?utf-8?q?=3Cscript=3Ealert=281=29=3C=2Fscript=3E?= <ada@customer.example>";
        let id = acme.mail(help, from, "<img src=x onerror=1>", "<script>alert(2)</script>").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let evil = "\"><script>alert(3)</script>";
        let composer = Composer::open(&mia, &format!("/conversations/{id}?compose=forward")).await;
        let composer = composer.set("to", evil).set("subject", &format!("{evil}\r\nBcc: eve@x.example"));
        let composer = composer.set("body", &format!("</textarea>{evil}"));
        let shown = composer.press(&mia, &write(id), ("do", "send")).await;
        let page = mia.get(shown.location()).await.page();
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x"), "{page}");
        for path in ["/drafts", &reply(id), &format!("/conversations/{id}/saved-replies?draft={evil}")] {
            let page = mia.get(&path.replace(['"', '<', '>'], "%22")).await.html;
            assert!(!page.contains("<script>alert"), "{path}");
        }
        mia.post("/settings/saved-replies", &[("name", evil), ("body", evil)]).await;
        let page = mia.get(&format!("/conversations/{id}/saved-replies?kind=forward")).await.page();
        assert!(!page.contains("<script>alert"));
        assert!(!mia.get("/settings/saved-replies").await.page().contains("<script>alert"));
        let composer = Composer::open(&mia, shown.location()).await.set("to", "post@carrier.example");
        let sent = composer.press(&mia, &write(id), ("do", "send")).await;
        assert!(sent.location().contains("done=sends"), "{}", sent.location());
        leaves(world).await;
        let raw = String::from_utf8(world.outbox.mails()[0].raw.clone()).unwrap();
        let (header, _) = raw.split_once("\r\n\r\n").unwrap();
        assert!(header.lines().all(|line| !line.to_lowercase().starts_with("bcc")), "{header}");
    })
    .await;
}

#[tokio::test]
async fn a_private_inbox_and_its_drafts_are_not_there_for_colleagues() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tom = acme.person("Tom Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", acme.owner).await;
        let id = acme.mail(private, "ada@customer.example", "Private", "For Mia").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Secret");
        composer.press(&mia, &write(id), ("do", "save")).await;
        let toms = world.browser(acme.id, tom).await;
        let missing = toms.get("/conversations/cnv_0000000000001").await;
        for path in [reply(id), format!("/conversations/{id}/saved-replies")] {
            let shown = toms.get(&path).await;
            assert_eq!((shown.status, &shown.html), (404, &missing.html), "{path}");
        }
        for button in ["save", "send", "discard", "all"] {
            let shown = composer.press(&toms, &write(id), ("do", button)).await;
            assert_eq!((shown.status, &shown.html), (404, &missing.html), "{button}");
        }
        let shown =
            upload(&toms, &format!("{}/files", write(id)), &composer, &[("x", "text/plain", b"x")]).await;
        assert_eq!((shown.status, &shown.html), (404, &missing.html));
        // Nor can one write from it.
        acme.mailbox("help@acme.example", "Help").await;
        let compose = Composer::open(&toms, "/compose").await;
        assert!(!compose.html.contains("mia@acme.example"));
        let compose = compose.set("mailbox", &private.to_string()).set("to", "ada@customer.example");
        let compose = compose.set("subject", "Hi").set("body", "Hi");
        assert_eq!(compose.press(&toms, "/compose", ("do", "send")).await.status, 404);
        assert_eq!(
            toms.post(&format!("/settings/signatures/{private}"), &[("signature", "x")]).await.status,
            404
        );
        assert_eq!(world.due_messages().await, 0);
        // A member does not sign for the team.
        let help: i64 = sqlx::query_scalar("select id from mailboxes where address = 'help@acme.example'")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        let path = format!("/settings/signatures/{}", rookery_base::ids::MailboxId(help));
        assert_eq!(toms.post(&path, &[("signature", "x")]).await.status, 403);
    })
    .await;
}

#[tokio::test]
async fn a_message_of_another_conversation_is_neither_passed_on_nor_answered() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tom = acme.person("Tom Member", Role::Member).await;
        let help = inbox(&acme).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", acme.owner).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        acme.mail(private, "boss@customer.example", "Private", "TOP SECRET").await;
        let hidden: i64 = sqlx::query_scalar("select id from messages where text like 'TOP SECRET%'")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        let hidden = rookery_base::ids::MessageId(hidden).to_string();
        let toms = world.browser(acme.id, tom).await;
        let path = format!("/conversations/{id}?compose=forward&about={hidden}");
        let composer = Composer::open(&toms, &path).await;
        assert!(!composer.html.contains("TOP SECRET"));
        let composer = composer.set("about", &hidden).set("to", "tom@home.example").set("body", "x");
        assert_eq!(composer.press(&toms, &write(id), ("do", "send")).await.status, 404);
        let composer = Composer::open(&toms, &reply(id)).await.set("about", &hidden).set("body", "x");
        composer.press(&toms, &write(id), ("do", "send")).await;
        leaves(world).await;
        for mail in world.outbox.mails() {
            assert!(!String::from_utf8_lossy(&mail.raw).contains("TOP SECRET"));
        }
    })
    .await;
}
