//! Taking over, stopping and throwing away: files that others name stay, words come back as they were typed, and nobody
//! writes over or sends what a colleague changed meanwhile.

use rookery_base::app::MAIL_MEMORY;
use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::Role;
use serde_json::json;

use super::approvals::writes;
use super::writing_attacks::upload;
use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::writing::{Composer, inbox, leaves, mail, reply, write};
use rookery_world::{Mode, Workspace, World, story, story_with};

/// The message that a click on Send made.
fn sent(shown: &Shown) -> String {
    let location = shown.location();
    assert!(location.contains("done=sends"), "{location}");
    location.split("of=").nth(1).expect("a message").split('#').next().unwrap_or_default().to_owned()
}

/// As somebody else does: the mail becomes a draft for everybody.
async fn stops(acme: &Workspace<'_>, message: &str) {
    acme.undo(acme.owner, message).await.unwrap();
}

/// Takes a message over as the review page does, and gives the composer it is in then.
async fn takes_over(browser: &Browser<'_>, message: &str) -> Composer {
    let page = browser.get(&format!("/approvals/{message}")).await.page();
    let body = page.split("name=\"body\"").nth(1).unwrap().split_once('>').unwrap().1;
    let body = body
        .split("</textarea>")
        .next()
        .unwrap()
        .replace("&#38;", "&")
        .replace("&#60;", "<")
        .replace("&#62;", ">");
    let body = body.replace('\n', "\r\n");
    let version = page.split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = [("body", body.as_str()), ("version", version)];
    let taken = browser.post(&format!("/messages/{message}/take-over"), &fields).await;
    assert_eq!(taken.status, 303, "{}", taken.html);
    Composer::open(browser, taken.location()).await
}

fn files_of(composer: &Composer) -> Vec<String> {
    let list = composer.html.split("id=\"draft-files\"").nth(1).expect("a list of files");
    let list = list.split("</ul>").next().unwrap();
    list.split("file__name")
        .skip(1)
        .map(|name| name.split_once('>').unwrap().1.split('<').next().unwrap().to_owned())
        .collect()
}

fn drop_of(composer: &Composer, number: usize) -> String {
    let button = composer.html.split("name=\"drop\" value=\"").nth(number).expect("a button");
    button.split('"').next().unwrap().to_owned()
}

/// A saved reply with a file, and where its bytes are.
async fn saved_reply(world: &World, mia: &Browser<'_>, content: &[u8]) -> (String, String) {
    let page = "/settings/saved-replies";
    let made = mia.post(page, &[("name", "Terms"), ("body", "Here are the terms.")]).await;
    let id = made.location().split("of=").nth(1).unwrap().to_owned();
    let nothing = Composer::of("id=\"composer-form\"></form>".to_owned());
    let nothing = ["draft", "version", "kind", "seen", "about", "page", "save", "to", "cc", "bcc", "body"]
        .iter()
        .fold(nothing, |form, name| form.set(name, ""));
    let put =
        upload(mia, &format!("{page}/{id}/files"), &nothing, &[("terms.pdf", "application/pdf", content)])
            .await;
    assert_eq!(put.status, 303, "{}", put.html);
    let blob =
        sqlx::query_scalar("select blob from saved_reply_files").fetch_one(&world.app.pool).await.unwrap();
    (id, blob)
}

async fn writes_with(mia: &Browser<'_>, id: ConversationId, saved: &str) -> String {
    let composer = Composer::open(mia, &reply(id)).await;
    let shown = composer.press(mia, &write(id), ("insert", saved)).await;
    let composer = Composer::open(mia, shown.location()).await;
    assert_eq!(files_of(&composer), ["terms.pdf"]);
    sent(&composer.press(mia, &write(id), ("do", "send")).await)
}

#[tokio::test]
async fn the_file_of_a_saved_reply_outlives_every_mail_that_was_written_with_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Terms", "Which terms?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let (saved, blob) = saved_reply(world, &mia, b"the terms").await;
        let there = async || assert_eq!(world.app.blobs.get(&blob).await.unwrap(), b"the terms");

        // Stopped, taken over, and the file is taken out.
        let message = writes_with(&mia, id, &saved).await;
        stops(&acme, &message).await;
        let composer = takes_over(&mia, &message).await;
        assert_eq!(files_of(&composer), ["terms.pdf"]);
        let shown = composer.press(&mia, &write(id), ("drop", &drop_of(&composer, 1))).await;
        let composer = Composer::open(&mia, shown.location()).await;
        assert!(!composer.html.contains("terms.pdf"));
        there().await;

        // Stopped, taken over, thrown away, and forgotten with the next send after a week.
        composer.press(&mia, &write(id), ("do", "discard")).await;
        let message = writes_with(&mia, id, &saved).await;
        stops(&acme, &message).await;
        let composer = takes_over(&mia, &message).await;
        composer.press(&mia, &write(id), ("do", "discard")).await;
        world.wait(chrono::TimeDelta::days(8));
        let mia = world.browser(acme.id, acme.owner).await;
        let message = writes_with(&mia, id, &saved).await;
        there().await;

        // Stopped and discarded; and the same once the reply has the file no more: other mail may name it.
        stops(&acme, &message).await;
        mia.post(&format!("/messages/{message}/discard"), &[]).await;
        there().await;
        let kept = writes_with(&mia, id, &saved).await;
        let other = acme.mail(help, "bob@customer.example", "Terms too", "And mine?").await;
        let message = writes_with(&mia, other, &saved).await;
        mia.post("/settings/saved-replies", &[("id", &saved), ("do", "remove")]).await;
        stops(&acme, &message).await;
        let composer = takes_over(&mia, &message).await;
        composer.press(&mia, &write(other), ("drop", &drop_of(&composer, 1))).await;
        there().await;
        leaves(world).await;
        assert_eq!(world.outbox.letters().len(), 1, "{kept}");
    })
    .await;
}

#[tokio::test]
async fn an_upload_goes_with_the_last_that_names_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Lease", "The lease?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let before = world.files();
        let files = format!("{}/files", write(id));
        for way in ["discard", "take out"] {
            let composer = Composer::open(&mia, &reply(id)).await.set("body", "Here it is.");
            let shown = upload(&mia, &files, &composer, &[("lease.pdf", "application/pdf", b"lease")]).await;
            let composer = Composer::open(&mia, shown.location()).await;
            let message = sent(&composer.press(&mia, &write(id), ("do", "send")).await);
            stops(&acme, &message).await;
            assert_ne!(world.files(), before);
            if way == "discard" {
                mia.post(&format!("/messages/{message}/discard"), &[]).await;
            } else {
                let composer = takes_over(&mia, &message).await;
                assert_eq!(files_of(&composer), ["lease.pdf"]);
                composer.press(&mia, &write(id), ("drop", &drop_of(&composer, 1))).await;
            }
            assert_eq!(world.files(), before, "{way}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_stopped_forward_comes_back_with_its_note_and_exactly_its_files() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let headers = "From: Ada <ada@customer.example>\nTo: help@acme.example\nSubject: Parcel\nMIME-Version: 1.0\n\
                       Content-Type: multipart/mixed; boundary=b";
        let body = "--b\n\nWhere is it?\n--b\nContent-Type: application/pdf\n\
                    Content-Disposition: attachment; filename=lease.pdf\n\n%PDF lease\n--b\n\
                    Content-Type: application/pdf\nContent-Disposition: attachment; filename=secret.pdf\n\n%PDF secret\n--b--";
        let id = mail(&acme, help, headers, body).await;
        let mia = world.browser(acme.id, acme.owner).await;
        mia.post(&format!("/settings/signatures/{help}"), &[("signature", "Kind regards,\nMia")]).await;
        let composer = Composer::open(&mia, &format!("/conversations/{id}?compose=forward")).await;
        let composer = composer.set("to", "post@carrier.example").set("body", "Can you look?");
        let added = [("photo.png", "image/png", &b"photo"[..])];
        let shown = upload(&mia, &format!("{}/files", write(id)), &composer, &added).await;
        let composer = Composer::open(&mia, shown.location()).await;
        assert_eq!(files_of(&composer), ["lease.pdf", "secret.pdf", "photo.png"]);
        let shown = composer.press(&mia, &write(id), ("drop", &drop_of(&composer, 2))).await;
        let composer = Composer::open(&mia, shown.location()).await;
        let message = sent(&composer.press(&mia, &write(id), ("do", "send")).await);
        stops(&acme, &message).await;

        let composer = takes_over(&mia, &message).await;
        assert_eq!(composer.get("kind"), "forward");
        assert_eq!(composer.get("to"), "post@carrier.example");
        assert_eq!(composer.get("body"), "Can you look?");
        assert_eq!(files_of(&composer), ["lease.pdf", "photo.png"]);
        sent(&composer.press(&mia, &write(id), ("do", "send")).await);
        leaves(world).await;
        let text = &world.outbox.letters()[0].text;
        assert!(text.starts_with("Can you look?\n\nKind regards,\nMia\n\n-----"), "{text}");
        assert_eq!((text.matches("Forwarded message").count(), text.matches("Kind regards").count()), (1, 1), "{text}");
        let raw = String::from_utf8(world.outbox.mails()[0].raw.clone()).unwrap();
        let parsed = mail_parser::MessageParser::new().parse(raw.as_bytes()).unwrap();
        assert_eq!(parsed.attachments().map(|file| file.contents().len()).sum::<usize>(), "%PDF leasephoto".len());

        // Somebody had taken words out of what is passed on: theirs is kept beside.
        let composer = Composer::open(&mia, &format!("/conversations/{id}?compose=forward")).await;
        let composer = composer.set("to", "post@carrier.example").set("body", "And now?");
        let message = sent(&composer.press(&mia, &write(id), ("do", "send")).await);
        stops(&acme, &message).await;
        let page = mia.get(&format!("/approvals/{message}")).await.page();
        let stands = page.split("name=\"body\"").nth(1).unwrap().split_once('>').unwrap().1;
        let edited = stands.split("</textarea>").next().unwrap().replace("&#60;", "<").replace("&#62;", ">");
        let edited = edited.replace("Where is it?", "BLACKENED");
        let fields = [("body", edited.as_str()), ("version", "")];
        let taken = mia.post(&format!("/messages/{message}/take-over"), &fields).await;
        let composer = Composer::open(&mia, taken.location()).await;
        assert_eq!(composer.get("body"), "And now?");
        assert!(composer.html.contains("BLACKENED"), "nothing is lost: {}", composer.html);
    })
    .await;
}

#[tokio::test]
async fn a_stopped_reply_comes_back_unsigned_and_is_signed_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "Ada <ada@customer.example>", "Parcel", "Where is it?").await;
        let tom = acme.person("Tom Member", Role::Member).await;
        let (mia, tom) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        mia.post(
            &format!("/settings/signatures/{help}"),
            &[("signature", "Kind regards,\n{{agent.first_name}}")],
        )
        .await;
        let composer = Composer::open(&mia, &reply(id)).await;
        let composer = composer.set("body", "It is here.\n\nReally.").set("documents", "Passport");
        let message = sent(&composer.press(&mia, &write(id), ("do", "send")).await);
        stops(&acme, &message).await;
        // A colleague takes it over, and signs with their own name.
        let composer = takes_over(&tom, &message).await;
        assert_eq!((composer.get("body"), composer.get("documents")), ("It is here.\n\nReally.", "Passport"));
        sent(&composer.press(&tom, &write(id), ("do", "send")).await);
        leaves(world).await;
        let text = &world.outbox.letters()[0].text;
        assert!(text.starts_with("It is here.\n\nReally.\n\nKind regards,\nTom\n"), "{text}");
        assert_eq!(text.matches("Kind regards").count(), 1, "{text}");
    })
    .await;
}

#[tokio::test]
async fn what_a_signature_leaves_blank_stops_the_send() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let page = format!("/settings/signatures/{help}");
        mia.post(&page, &[("signature", "Bye, {{customer.first_name}}")]).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "It is here.");
        let shown = composer.press(&mia, &write(id), ("do", "send")).await;
        assert!(shown.location().contains("check=send"), "{}", shown.location());
        let composer = Composer::open(&mia, shown.location()).await;
        assert!(composer.html.contains("The signature has a blank"), "{}", composer.html);
        mia.post(&page, &[("signature", "Bye, {{customer.first_name|friend}}")]).await;
        sent(&composer.press(&mia, &write(id), ("do", "send")).await);
        leaves(world).await;
        assert!(world.outbox.letters()[0].text.contains("Bye, friend"));
    })
    .await;
}

/// A draft of an agent that a colleague has changed.
async fn changed<'w>(world: &'w World) -> (ConversationId, String, Browser<'w>, Browser<'w>, String) {
    let acme = world.workspace("Acme").await;
    let help = inbox(&acme).await;
    let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
    let bot = acme.key("bot", "draft", Mode::Live).await;
    let message = bot.replies(id, json!({ "body": "It is lost.\nYours", "summary": "Says no" })).await;
    let tom = acme.person("Tom Member", Role::Member).await;
    let (mia, tom) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
    let listed = mia.get("/approvals").await.page();
    let pick = listed.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let edited = [("body", "It is found.\nYours"), ("version", "")];
    assert_eq!(tom.post(&format!("/messages/{message}/edit"), &edited).await.status, 303);
    (id, message, mia, tom, pick)
}

#[tokio::test]
async fn nothing_is_approved_that_was_not_shown_whatever_the_form_leaves_out() {
    story(async |world| {
        let (id, message, mia, _, pick) = changed(world).await;
        // The page of the conversation that Mia has open still shows the agent's words.
        let fields = [("from", "conversation"), ("conversation", &id.to_string())];
        let shown = mia.post(&format!("/messages/{message}/approve"), &fields).await;
        assert_eq!(shown.location(), format!("/approvals/{message}?done=crossed&of={message}"));
        let many = mia.post("/approvals/many", &[("id", &pick), ("do", "approve")]).await;
        assert!(
            many.location().contains("approved=0") && many.location().contains("changed=1"),
            "{}",
            many.location()
        );
        assert!(mia.get(many.location()).await.page().contains("1 changed by someone meanwhile"));
        let many = mia.post("/approvals/many", &[("id", &pick), ("do", "discard")]).await;
        assert!(
            many.location().contains("discarded=0") && many.location().contains("changed=1"),
            "{}",
            many.location()
        );
        assert_eq!(world.due_messages().await, 0);
        // As it is listed now, it goes.
        let listed = mia.get("/approvals").await.page();
        let pick = listed.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let many = mia.post("/approvals/many", &[("id", pick), ("do", "approve")]).await;
        assert!(many.location().contains("approved=1"), "{}", many.location());
        leaves(world).await;
        assert!(world.outbox.letters()[0].text.starts_with("It is found."));
    })
    .await;
}

#[tokio::test]
async fn taking_over_stops_at_a_colleagues_edit_and_keeps_both_texts() {
    story(async |world| {
        let (id, message, mia, _, _) = changed(world).await;
        let path = format!("/messages/{message}/take-over");
        for late in
            [&[("body", "It is late.\r\nYours"), ("version", "")][..], &[("body", "It is late.\r\nYours")]]
        {
            let crossed = mia.post(&path, late).await;
            assert_eq!(crossed.status, 409, "{}", crossed.html);
            assert!(
                crossed.html.contains("Tom Member changed this draft while you were editing."),
                "{}",
                crossed.html
            );
            assert!(crossed.html.contains(">It is late.\nYours</textarea>"), "{}", crossed.html);
            assert!(
                crossed.html.contains("It is <del>found</del><ins>late</ins>.\nYours"),
                "one word is marked: {}",
                crossed.html
            );
        }
        let version = mia.get(&format!("/approvals/{message}")).await.page();
        let version =
            version.split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let taken = mia.post(&path, &[("body", "It is late.\r\nYours"), ("version", &version)]).await;
        assert_eq!(taken.status, 303);
        let composer = Composer::open(&mia, &reply(id)).await;
        assert_eq!(composer.get("body"), "It is late.\nYours");
        // Who still types into it keeps what they typed, and the conversation tells what became of it.
        for way in ["approve", "edit", "take-over"] {
            let late = mia
                .post(&format!("/messages/{message}/{way}"), &[("body", "My <b>words</b>"), ("version", "")])
                .await;
            assert_eq!(late.status, 404, "{way}");
            assert!(late.html.contains("My &#60;b&#62;words&#60;/b&#62;</textarea>"), "{way}: {}", late.html);
        }
        let page = mia.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("took over a draft") && !page.contains("discarded a draft"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_file_from_a_window_with_old_words_is_kept_and_the_window_hears_of_the_newer_ones() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let (one, two) = (Composer::open(&mia, &reply(id)).await, Composer::open(&mia, &reply(id)).await);
        let one = one.set("page", "one").set("save", "1").set("body", "From the first window.");
        let kept = one.press(&mia, &write(id), ("quiet", "1")).await;
        assert_eq!(kept.status, 204);
        let two = two.set("page", "two").set("save", "1").set("body", "From the second.");
        let files = format!("{}/files", write(id));
        let file = [("lease.pdf", "application/pdf", &b"lease"[..])];
        let told = upload(&mia, &format!("{files}?quiet=1"), &two, &file).await;
        assert_eq!((told.status, told.html.as_str()), (409, "From the first window."));
        let version = told.headers["x-draft-version"].to_str().unwrap();
        assert_eq!(version, kept.headers["x-draft-version"].to_str().unwrap());
        let plain = upload(&mia, &files, &two.set("save", "2"), &file).await;
        assert!(plain.location().contains("check=newer"), "{}", plain.location());
        let composer = Composer::open(&mia, &reply(id)).await;
        assert_eq!(composer.get("body"), "From the first window.");
        assert!(composer.html.contains("From the second."), "kept beside it: {}", composer.html);
        assert_eq!(files_of(&composer), ["lease.pdf", "lease.pdf"]);
    })
    .await;
}

#[tokio::test]
async fn the_same_words_about_another_message_are_other_words() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = writes(&acme, help, "Parcel", 1, "Where is it?").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let read = key.conversation(id).await;
        let mails: Vec<&str> =
            read["timeline"].as_array().unwrap().iter().filter_map(|item| item["id"].as_str()).collect();
        let [first, second] = mails[..] else { panic!("two messages: {read}") };
        let mia = world.browser(acme.id, acme.owner).await;
        let open = async |about: &str| {
            let path = format!("/conversations/{id}?compose=forward&about={about}");
            Composer::open(&mia, &path).await.set("to", "post@carrier.example").set("body", "Look")
        };
        let (one, two) = (open(first).await, open(second).await);
        assert_eq!((one.get("about"), two.get("about")), (first, second));
        one.press(&mia, &write(id), ("do", "save")).await;
        let shown = two.press(&mia, &write(id), ("do", "send")).await;
        assert!(shown.location().contains("check=newer"), "{}", shown.location());
        assert_eq!(world.due_messages().await, 0);
    })
    .await;
}

#[tokio::test]
async fn words_that_come_with_files_have_a_limit_and_an_empty_file_is_passed_over() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let files = format!("{}/files", write(id));
        let before = world.files();
        let composer = Composer::open(&mia, &reply(id)).await;
        let long = composer.set("body", &"x".repeat(3 << 20));
        assert_eq!(upload(&mia, &files, &long, &[("a.txt", "text/plain", b"a")]).await.status, 413);
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Short.");
        let shown =
            upload(&mia, &files, &composer, &[("", "application/octet-stream", &vec![0; 5 << 20])]).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        let composer = Composer::open(&mia, &reply(id)).await;
        assert_eq!(composer.get("body"), "Short.");
        assert_eq!(world.files(), before);
    })
    .await;
}

#[tokio::test]
async fn what_does_not_fit_any_more_leaves_the_words_where_they_are() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let (saved, _) = saved_reply(world, &mia, &vec![1; 10 << 20]).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Much to read.");
        let large = vec![2; 10 << 20];
        let shown = upload(
            &mia,
            &format!("{}/files", write(id)),
            &composer,
            &[("large.bin", "application/x-any", &large)],
        )
        .await;
        let composer = Composer::open(&mia, shown.location()).await;
        let refused =
            composer.set("body", "Much to read, and more.").press(&mia, &write(id), ("insert", &saved)).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("at most 18 MB together"), "{}", refused.html);
        let composer = Composer::open(&mia, &reply(id)).await;
        assert!(composer.get("body").starts_with("Much to read, and more."), "{}", composer.get("body"));
    })
    .await;
}

#[tokio::test]
async fn the_conversation_calls_a_draft_outdated_exactly_when_the_queue_does() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = writes(&acme, help, "Parcel", 1, "Where is it?").await;
        world.wait(chrono::TimeDelta::minutes(1));
        let bot = acme.key("bot", "draft", Mode::Live).await;
        bot.replies(id, json!({ "body": "On its way.", "summary": "Says so" })).await;
        let mia = world.browser(acme.id, acme.owner).await;
        let away = "Message-ID: <away@customer.example>\nFrom: Kim <kim@customer.example>\nSubject: Re: Parcel\n\
                    In-Reply-To: <parcel-ours@acme.example>\nAuto-Submitted: auto-replied\n\nI am away.\n";
        world.wait(chrono::TimeDelta::minutes(1));
        acme.receives(help, away).await;
        let page = mia.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("I am away.") && !page.contains("Outdated"), "{page}");
        world.wait(chrono::TimeDelta::minutes(1));
        writes(&acme, help, "Parcel", 2, "Hello?").await;
        assert!(mia.get(&format!("/conversations/{id}")).await.page().contains("Outdated"));
    })
    .await;
}

#[tokio::test]
async fn who_works_through_a_later_part_of_the_queue_stays_in_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let mut messages = Vec::new();
        for number in 0..53 {
            messages.push(
                bot.replies(id, json!({ "body": format!("Answer {number}."), "summary": "One of many" }))
                    .await,
            );
        }
        let mia = world.browser(acme.id, acme.owner).await;
        let page = mia.get("/approvals").await.page();
        assert!(page.contains("1 of 53"), "{page}");
        let later =
            page.split("href=\"/approvals?after=").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let page = mia.get(&format!("/approvals?after={later}")).await.page();
        let shown = |page: &str| {
            messages.iter().map(|message| page.contains(&format!("id=\"{message}\""))).collect::<Vec<_>>()
        };
        assert_eq!(shown(&page), [vec![false; 50], vec![true; 3]].concat());
        assert!(!page.contains(" of 53"), "nobody counted those before: {page}");
        assert!(page.contains(&format!("href=\"/approvals/{}?after={later}\"", messages[51])), "{page}");
        // The decision leads to the next of this part, and after the last one to the beginning.
        let discards = async |number: usize| {
            let page = mia.get(&format!("/approvals/{}?after={later}", messages[number])).await.page();
            let form =
                page.split("id=\"discard\"").nth(1).unwrap().split("</form>").next().unwrap().to_owned();
            let value = |name: &str| {
                form.split(&format!("name=\"{name}\" value=\""))
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
                    .to_owned()
            };
            let (place, after) = (value("place"), value("after"));
            let path = format!("/messages/{}/discard", messages[number]);
            mia.post(&path, &[("place", &place), ("after", &after)]).await.location().to_owned()
        };
        let next = discards(51).await;
        assert!(next.starts_with(&format!("/approvals/{}?after={later}&done", messages[52])), "{next}");
        let next = discards(52).await;
        assert!(next.starts_with(&format!("/approvals/{}?done", messages[0])), "{next}");
        let many = mia
            .post(
                "/approvals/many",
                &[("id", &format!("{}@", messages[50])), ("do", "discard"), ("after", &later)],
            )
            .await;
        assert!(many.location().contains(&format!("after={later}")), "{}", many.location());
        assert!(
            mia.get(many.location()).await.page().contains(&format!("id=\"{}\"", messages[0])),
            "the part is empty"
        );
    })
    .await;
}

#[tokio::test]
async fn mail_with_files_waits_for_memory_without_a_try_and_other_mail_does_not() {
    story_with(&[("LEASE_SECONDS", "3")], async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "With a file.");
        let files = format!("{}/files", write(id));
        let shown = upload(&mia, &files, &composer, &[("lease.pdf", "application/pdf", b"lease")]).await;
        let composer = Composer::open(&mia, shown.location()).await;
        sent(&composer.press(&mia, &write(id), ("do", "send")).await);
        let other = acme.mail(help, "bob@customer.example", "Hi", "Hello").await;
        let composer = Composer::open(&mia, &reply(other)).await.set("body", "Without one.");
        sent(&composer.press(&mia, &write(other), ("do", "send")).await);
        world.wait(rookery_world::pages::writing::WINDOW);

        let all = world.app.mail_memory.acquire_many(MAIL_MEMORY).await.unwrap();
        let given_up = tokio::time::timeout(std::time::Duration::from_secs(4), world.work()).await;
        assert!(given_up.is_err(), "it goes on waiting");
        assert_eq!(world.outbox.letters().len(), 1);
        assert_eq!(world.outbox.letters()[0].text.lines().next(), Some("Without one."));
        drop(all);
        world.wait(chrono::TimeDelta::seconds(10));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 2);
        let tries: i64 =
            sqlx::query_scalar("select sum(tries) from messages").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(tries, 0, "waiting is no try");
        assert_eq!(
            world.app.mail_memory.available_permits(),
            MAIL_MEMORY as usize,
            "all of it is given back"
        );
    })
    .await;
}
