//! Sending as a secure link, reading and answering on its page, and what everybody else sees of it.

use serde_json::{Value, json};

use super::{Desk, ROSA};
use rookery_world::pages::writing::{Composer, leaves, reply, write};
use rookery_world::{Mode, story};

/// The timeline's messages, as a key reads them over REST and over MCP, which agree.
async fn messages(desk: &Desk<'_>, key: &rookery_world::Key<'_>) -> Vec<Value> {
    let id = desk.id.to_string();
    let path = format!("/conversations/{id}");
    let (status, read) = key.read(&path, "get_conversation", json!({ "id": id })).await;
    assert_eq!(status, 200, "{read}");
    let all = read["timeline"].as_array().unwrap().iter().filter(|item| item["type"] == "message");
    all.cloned().collect()
}

/// proves: APP-10, EVT-5, EVT-11
#[tokio::test]
async fn a_secure_link_is_sent_read_and_answered_and_only_the_two_of_them_see_a_word() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read", Mode::Live).await;
        let link = desk.sends("Your account ends with 4471.").await;

        let letter = world.outbox.letters().pop().unwrap();
        assert_eq!((letter.to.as_str(), letter.subject.as_str()), (ROSA, "A secure message from Help"));
        let raw = String::from_utf8(world.outbox.mails().pop().unwrap().raw).unwrap();
        for word in ["4471", "Deposit", "Where is my money", "wrote:"] {
            assert!(!raw.contains(word) && !letter.text.contains(word), "{word}: {raw}");
        }
        assert_eq!(letter.text.matches("https://").count(), 1);
        assert!(letter.text.contains("not secured"));
        assert_eq!(world.events("message.sent").await[0]["data"]["secure"], true);

        let rosa = desk.guest(&link);
        let gate = rosa.opens().await.page();
        assert!(
            gate.contains("r…@customer.example") && !gate.contains(ROSA) && !gate.contains("4471"),
            "{gate}"
        );
        rosa.gets_in().await;
        let page = rosa.opens().await.page();
        assert!(page.contains("4471"), "{page}");
        assert!(page.len() < 30_000, "{}", page.len());
        let told = key.told(desk.id, "secure-read").await;
        assert_eq!(told.len(), 1, "{told:?}");

        let sent = rosa.replies("one", "Mine ends with 9902, sorry.", &[]).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        let page = rosa.get(sent.location().split('#').next().unwrap()).await.page();
        assert!(page.contains("9902") && page.contains("has arrived"), "{page}");
        let replied = &world.events("client.replied").await[0];
        assert_eq!(replied["data"]["secure"], true, "{replied}");

        let read = messages(&desk, &key).await;
        let secure: Vec<(&Value, &Value, &Value)> =
            read.iter().map(|one| (&one["secure"], &one["text"], &one["direction"])).collect();
        let (hidden, yes, no) = (json!("Secure message"), json!(true), json!(false));
        assert_eq!(secure[0].0, &no);
        assert_eq!(secure[1], (&yes, &hidden, &json!("outbound")));
        assert_eq!(secure[2], (&yes, &hidden, &json!("inbound")));
        assert_eq!(read[2]["id"], replied["data"]["message_id"]);
        let listed = key.conversation(desk.id).await;
        assert_eq!(listed["status"], "open");

        let page = desk.page().await;
        assert!(page.contains("4471") && page.contains("9902") && page.contains("Secure message"), "{page}");
        let inbox = desk.mia.get("/inbox").await.page();
        assert!(!inbox.contains("9902") && inbox.contains("Secure message"), "{inbox}");
    })
    .await;
}

/// proves: EVT-12
#[tokio::test]
async fn what_an_agent_sends_is_never_secure_even_where_people_write_securely() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read,draft,send", Mode::Live).await;
        desk.sends("Your account ends with 4471.").await;
        key.sends(desk.id, "Anything else?").await;
        leaves(world).await;
        let sent = world.events("message.sent").await;
        assert_eq!((&sent[0]["data"]["secure"], &sent[1]["data"]["secure"]), (&json!(true), &json!(false)));
        assert_eq!(world.outbox.letters().pop().unwrap().text, "Anything else?");
    })
    .await;
}

#[tokio::test]
async fn the_choice_is_remembered_and_a_later_plain_mail_quotes_nothing_of_it() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let composer = desk.composer().await;
        assert!(!composer.has("secure"), "nobody chose it yet");
        let rosa = desk.guest(&desk.sends("Your account ends with 4471.").await);
        rosa.gets_in().await;
        assert_eq!(rosa.replies("one", "Mine ends with 9902.", &[]).await.status, 303);
        let composer = desk.composer().await;
        assert!(composer.has("secure"), "the next one is secure too");
        let plain = composer.without("secure").set("body", "Thank you.");
        let shown = plain.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        assert!(shown.location().contains("done=sends"), "{}", shown.html);
        leaves(world).await;
        let raw = String::from_utf8(world.outbox.mails().pop().unwrap().raw).unwrap();
        assert!(raw.contains("Thank you."), "{raw}");
        for word in ["4471", "9902", "Secure message"] {
            assert!(!raw.contains(word), "{word}: {raw}");
        }
        assert!(!desk.composer().await.has("secure"), "and then it is plain again");
    })
    .await;
}

#[tokio::test]
async fn a_passphrase_that_was_agreed_opens_the_page_and_no_code_is_sent() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let link = desk.sends_with("Blue Horse 7", "Your account ends with 4471.").await;
        let rosa = desk.guest(&link);
        let letters = world.outbox.letters().len();
        let gate = rosa.opens().await.page();
        assert!(gate.contains("passphrase") && !gate.contains("Send me a code"), "{gate}");
        rosa.posts("code", &[]).await;
        world.work().await;
        assert_eq!(world.outbox.letters().len(), letters, "nothing was mailed");
        assert_eq!(rosa.tries("blue  horse 8").await.status, 422);
        assert_eq!(rosa.tries("  blue  HORSE 7").await.status, 303);
        assert!(rosa.opens().await.page().contains("4471"));
        let raw = String::from_utf8(world.outbox.mails().pop().unwrap().raw).unwrap();
        assert!(!raw.to_lowercase().contains("horse"), "{raw}");
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_a_secure_message_says_why_and_loses_no_word() {
    story(async |world| {
        let desk = Desk::new(world).await;
        for (field, value, why) in [
            ("cc", "bob@customer.example", "one address"),
            ("documents", "Lease", "ordinary mail"),
            ("passphrase", "short", "8 to 200"),
        ] {
            let proof = if field == "passphrase" { "passphrase" } else { "code" };
            let composer = desk.composer().await.set("secure", "1").set("proof", proof).set("body", "4471");
            let shown = composer.set(field, value).press(&desk.mia, &write(desk.id), ("do", "send")).await;
            let page = desk.mia.get(shown.location().split('#').next().unwrap()).await.page();
            assert!(page.contains(why) && page.contains("4471"), "{why}: {page}");
            // The draft goes on from what was saved.
            let again = Composer::open(&desk.mia, &reply(desk.id)).await;
            again.set(field, "").press(&desk.mia, &write(desk.id), ("do", "save")).await;
        }
        leaves(world).await;
        assert_eq!(world.outbox.letters().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_stopped_one_is_a_draft_that_goes_out_as_it_was_or_is_written_on() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let composer =
            desk.composer().await.set("secure", "1").set("proof", "code").set("body", "It is 4471.");
        let shown = composer.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        let message = shown.location().split("of=").nth(1).unwrap().to_owned();
        desk.acme.undo(desk.acme.owner, &message).await.unwrap();
        leaves(world).await;
        assert_eq!(world.outbox.letters().len(), 0);
        let edited = desk.mia.post(&format!("/messages/{message}/edit"), &[("body", "Other words")]).await;
        assert_ne!(edited.status, 500, "{}", edited.html);
        let taken = desk.mia.post(&format!("/messages/{message}/take-over"), &[]).await;
        assert_eq!(taken.status, 303, "{}", taken.html);
        let composer = desk.composer().await;
        assert!(
            composer.get("body").starts_with("It is 4471.") && composer.has("secure"),
            "{}",
            composer.html
        );
        let shown = composer.set("proof", "code").press(&desk.mia, &write(desk.id), ("do", "send")).await;
        assert!(shown.location().contains("done=sends"), "{}", shown.html);
        leaves(world).await;
        let link = rookery_world::pages::customer::link_in(&world.outbox.letters().pop().unwrap().text);
        let rosa = desk.guest(&link);
        rosa.gets_in().await;
        assert!(rosa.opens().await.page().contains("It is 4471."));
    })
    .await;
}

#[tokio::test]
async fn an_owner_lets_agents_read_the_words_and_takes_it_back_and_both_are_audited() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read", Mode::Live).await;
        desk.sends("Your account ends with 4471.").await;
        let words = async || messages(&desk, &key).await[1]["text"].as_str().unwrap().to_owned();
        assert_eq!(words().await, "Secure message");
        let decide =
            async |read: &str| desk.mia.post("/settings/agents/secure", &[("read", read)]).await.status;
        assert_eq!(decide("yes").await, 303);
        assert_eq!(words().await, "Your account ends with 4471.");
        assert_eq!(decide("no").await, 303);
        assert_eq!(words().await, "Secure message");
        let audited =
            world.scalar("select count(*) from audit_entries where did like 'secure_words.%'").await;
        assert_eq!(audited, 2);
        let admin = desk.acme.person("Adam", rookery_core::workspace::people::Role::Admin).await;
        let adam = world.browser(desk.acme.id, admin).await;
        assert_eq!(adam.post("/settings/agents/secure", &[("read", "yes")]).await.status, 404);
        assert_eq!(words().await, "Secure message");
    })
    .await;
}

#[tokio::test]
async fn files_go_both_ways_and_only_over_the_page() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let composer =
            desk.composer().await.set("secure", "1").set("proof", "code").set("body", "See the file.");
        composer.press(&desk.mia, &write(desk.id), ("do", "save")).await;
        desk.attaches("settlement.pdf", b"settlement 2340").await;
        let link = desk.sent(&desk.composer().await.set("proof", "code")).await;
        let raw = String::from_utf8(world.outbox.mails().pop().unwrap().raw).unwrap();
        assert!(!raw.contains("settlement") && !raw.contains("multipart/mixed"), "{raw}");

        let rosa = desk.guest(&link);
        let before = rosa.get(&format!("{link}/files/sfl_0000000000001")).await;
        assert_eq!((before.status, before.location()), (303, link.as_str()), "the way in");
        rosa.gets_in().await;
        let page = rosa.opens().await.page();
        let file = page.split("/files/").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert!(page.contains("settlement.pdf"));
        let given = rosa.get(&format!("{link}/files/{file}")).await;
        assert_eq!((given.status, given.html.as_str()), (200, "settlement 2340"));
        assert!(given.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));

        let large: Vec<u8> = (0..600_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
        assert_eq!(rosa.replies("one", "", &[("id-card.pdf", &large)]).await.status, 303);
        let page = desk.page().await;
        assert!(page.contains("id-card.pdf"), "{page}");
        let last = page.rsplit("/messages/msg_").find(|part| part.contains("/files/0")).unwrap();
        let id = last.split("/files/0").next().unwrap();
        let saved = desk.mia.get(&format!("/messages/msg_{id}/files/0")).await;
        assert_eq!(saved.html.as_bytes(), large, "three pieces, in their order");
        let key = desk.acme.key("bot", "read", Mode::Live).await;
        for message in messages(&desk, &key).await {
            assert_eq!(message["attachments"], json!([]), "{message}");
        }
        let documents = key.get("/documents").await;
        assert!(!documents.text.contains("id-card"), "{}", documents.text);
    })
    .await;
}
