//! The sandbox plays the customer: what becomes of a mail, and what comes back, by its recipient's name.

use chrono::TimeDelta;
use rookery_base::search_terms;
use rookery_core::conversations::filter::{ConversationFilter, View};
use rookery_core::conversations::list::list;
use rookery_core::workspace::people;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, World, story, story_with};

const WINDOW: TimeDelta = TimeDelta::seconds(5);

/// A conversation of someone with this address, and a reply to them that has just left.
async fn answered(world: &World, key: &Key<'_>, address: &str) -> (String, String) {
    let id =
        key.simulate(json!({ "from": address, "name": "Cleo", "subject": "Order 7", "text": "Hello" })).await;
    let message = key.sends(&id, "Thank you for your order.").await;
    world.wait(WINDOW);
    world.work().await;
    (id, message)
}

async fn later(world: &World) {
    world.wait(TimeDelta::seconds(5));
    world.work().await;
}

/// What has been on the conversation since our message.
fn after<'a>(read: &'a Value, message: &str) -> Vec<&'a Value> {
    let items = read["timeline"].as_array().unwrap();
    let ours = items.iter().position(|item| item["id"] == message).expect("our message");
    items[ours + 1..].iter().filter(|item| item["type"] == "message").collect()
}

/// proves: SBX-12, SBX-19, SBX-20, SBX-27, SBX-10, EVT-11
#[tokio::test]
async fn a_send_leaves_five_seconds_later_and_not_earlier_and_nothing_comes_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        for address in ["delivered+7@x.test", "somebody@shop.test"] {
            let id = key.simulate(json!({ "from": address, "text": "Hello" })).await;
            let message = key.sends(&id, "On its way.").await;
            world.wait(WINDOW - TimeDelta::milliseconds(1));
            world.work().await;
            assert_eq!(key.message(&id, &message).await["status"], "scheduled");
            assert!(!world.sandbox_ledger().await.contains(&address.to_owned()));
            world.wait(TimeDelta::milliseconds(1));
            world.work().await;
            let left = key.message(&id, &message).await;
            assert_eq!(
                (&left["status"], &left["at"]),
                (&json!("sent"), &json!(rookery_base::clock::written(world.now())))
            );
            assert_eq!(key.conversation(&id).await["status"], "waiting");
            let told = world.events("message.sent").await.pop().unwrap();
            assert_eq!(told["livemode"], false);
            let data = json!({
                "conversation_id": id, "message_id": message, "mailbox_id": told["data"]["mailbox_id"],
                "author": { "type": "agent", "id": key.agent.to_string() }, "secure": false,
                "summary": "An email went out from Sandbox.",
            });
            assert_eq!(told["data"], data);
            let read = key.conversation(&id).await;
            world.wait(TimeDelta::days(3));
            world.work().await;
            assert_eq!(key.conversation(&id).await, read, "nothing comes back");
        }
        assert_eq!(world.sandbox_ledger().await, ["delivered+7@x.test", "somebody@shop.test"]);
        assert_eq!(world.events("message.sent").await.len(), 2);
        assert_eq!(
            world.outbox.letters().len(),
            0,
            "no mail of the sandbox reaches the carrier of live mail"
        );
    })
    .await;
}

/// proves: SBX-13, MSG-10, STAT-11, EVT-16
#[tokio::test]
async fn a_bounce_fails_and_announces_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        let (id, message) = answered(world, &key, "bounce@x.test").await;
        assert_eq!(key.message(&id, &message).await["status"], "failed");
        assert_eq!(world.events("message.sent").await, [] as [Value; 0]);
        let told = json!({ "messageId": message, "email": "bounce@x.test", "reason": "bounce" });
        assert_eq!(key.told(&id, "delivery-failed").await, [told]);
        assert_eq!(key.conversation(&id).await["status"], "open", "it is still our turn");
        assert_eq!(world.sandbox_ledger().await, [] as [&str; 0]);
    })
    .await;
}

/// proves: SBX-14, SBX-15, EVT-17
#[tokio::test]
async fn after_a_complaint_no_mail_reaches_that_address_any_more() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        let (id, message) = answered(world, &key, "complaint+a@x.test").await;
        assert_eq!(key.message(&id, &message).await["status"], "sent");
        assert_eq!(world.events("message.sent").await.len(), 1);
        let complaint = json!({ "messageId": message, "email": "complaint+a@x.test" });
        assert_eq!(key.told(&id, "spam-complaint").await, [complaint]);
        let kinds: Vec<String> =
            sqlx::query_scalar("select distinct kind from events").fetch_all(&world.app.pool).await.unwrap();
        assert!(!kinds.iter().any(|kind| kind.contains("complaint")), "{kinds:?}");

        // From another conversation, by another key, and for ever.
        let other = acme.key("other", "write,send", Mode::Test).await;
        world.wait(TimeDelta::days(20));
        let (second, refused) = answered(world, &other, "Complaint+A@x.test").await;
        assert_eq!(other.message(&second, &refused).await["status"], "failed");
        let told = json!({ "messageId": refused, "email": "complaint+a@x.test", "reason": "suppressed" });
        assert_eq!(other.told(&second, "delivery-failed").await, [told]);
        assert_eq!(world.events("message.sent").await.len(), 1);

        // Another tag is another address, and another workspace another sandbox.
        let (third, fine) = answered(world, &other, "complaint+b@x.test").await;
        assert_eq!(other.message(&third, &fine).await["status"], "sent");
        let globex = world.workspace("Globex").await;
        let theirs = globex.key("bot", "write,send", Mode::Test).await;
        let (fourth, fine) = answered(world, &theirs, "complaint+a@x.test").await;
        assert_eq!(theirs.message(&fourth, &fine).await["status"], "sent");
    })
    .await;
}

/// proves: SBX-16, SBX-8
#[tokio::test]
async fn reply_writes_back_about_five_seconds_after_our_mail_left() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        let (id, message) = answered(world, &key, "Reply+order-7@shop.test").await;
        world.wait(TimeDelta::milliseconds(3_900));
        world.work().await;
        assert!(after(&key.conversation(&id).await, &message).is_empty(), "not before four seconds");
        world.wait(TimeDelta::milliseconds(1_100));
        world.work().await;
        let read = key.conversation(&id).await;
        let [answer] = after(&read, &message)[..] else { panic!("one answer: {read}") };
        assert_eq!(answer["from"], json!({ "name": "Cleo", "email": "reply+order-7@shop.test" }));
        assert_eq!((&answer["direction"], &answer["status"]), (&json!("inbound"), &json!(null)));
        assert_eq!(read["status"], "open");
        let replied = world.events("client.replied").await;
        assert_eq!(replied.len(), 1);
        assert_eq!(replied[0]["data"]["message_id"], answer["id"]);
        assert_eq!(replied[0]["livemode"], false);
        let turns: Vec<_> =
            world.events("turn.changed").await.iter().map(|e| e["data"]["turn"].clone()).collect();
        assert_eq!(turns, ["ours", "theirs", "ours"]);

        // It never answers an answer: only our own mail makes it write.
        later(world).await;
        assert_eq!(after(&key.conversation(&id).await, &message).len(), 1);
        let again = key.sends(&id, "And thank you.").await;
        world.wait(WINDOW);
        world.work().await;
        later(world).await;
        assert_eq!(after(&key.conversation(&id).await, &again).len(), 1);
    })
    .await;
}

/// proves: SBX-17
#[tokio::test]
async fn docs_sends_an_invoice_that_is_filed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        let (id, message) = answered(world, &key, "docs@shop.test").await;
        later(world).await;
        let read = key.conversation(&id).await;
        let [answer] = after(&read, &message)[..] else { panic!("one answer: {read}") };
        let size = answer["attachments"][0]["size"].clone();
        let documents = key.get("/documents").await.json();
        let document = &documents[0];
        let (kind, id_of_it) = ("application/pdf", &document["id"]);
        let file =
            json!({ "filename": "invoice.pdf", "contentType": kind, "size": size, "documentId": id_of_it });
        assert_eq!(answer["attachments"], json!([file]));
        assert_eq!(documents.as_array().unwrap().len(), 1);
        assert_eq!((&document["title"], &document["conversationId"]), (&json!("invoice.pdf"), &json!(id)));
        assert_eq!((&document["kind"], &document["fields"]), (&json!(null), &json!({})));
        assert_eq!(world.events("client.replied").await.len(), 1);
        assert_eq!((&read["risk"], &read["status"]), (&json!(null), &json!("open")));
    })
    .await;
}

/// proves: SBX-18, EVT-6
#[tokio::test]
async fn ooo_answers_automatically_and_moves_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        let (id, message) = answered(world, &key, "ooo@shop.test").await;
        let turns = world.events("turn.changed").await.len();
        later(world).await;
        let read = key.conversation(&id).await;
        let [answer] = after(&read, &message)[..] else { panic!("one answer: {read}") };
        assert_eq!(answer["direction"], "inbound");
        assert_eq!(read["status"], "waiting");
        assert_eq!(world.events("client.replied").await, [] as [Value; 0]);
        assert_eq!(world.events("turn.changed").await.len(), turns);
    })
    .await;
}

/// A node that stops between the pipeline and the note that it is done gives the answer again.
///
/// proves: SBX-30
#[tokio::test]
async fn an_answer_that_is_given_twice_arrives_once() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        for address in ["reply@shop.test", "docs@shop.test", "ooo@shop.test"] {
            let (id, message) = answered(world, &key, address).await;
            let files = world.files().len();
            world.sql("create table kept as select * from sandbox_answers").await;
            later(world).await;
            let read = key.conversation(&id).await;
            assert_eq!(after(&read, &message).len(), 1, "{address}");
            let (events, stored) = (world.event_count().await, world.files().len());
            assert_eq!(stored > files, address.starts_with("docs"), "a file that came along is a file");
            world.sql("insert into sandbox_answers select * from kept; drop table kept").await;
            later(world).await;
            assert_eq!(key.conversation(&id).await, read, "{address}");
            assert_eq!((world.event_count().await, world.files().len()), (events, stored), "{address}");
            let left: i64 = sqlx::query_scalar("select count(*) from sandbox_answers")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
            assert_eq!(left, 0);
        }
    })
    .await;
}

/// proves: SBX-24, SBX-26
#[tokio::test]
async fn people_neither_find_the_sandboxs_mail_nor_approve_or_stop_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let live = acme.mail(inbox, "ada@customer.example", "Zebra", "Hello").await;
        let key = acme.key("bot", "write,draft,send", Mode::Test).await;
        let id = key.simulate(json!({ "from": "reply@x.test", "subject": "Zebra", "text": "Hello" })).await;
        let (draft, scheduled) = (key.drafts(&id, "Hello.").await, key.sends(&id, "Hello.").await);
        world.work().await;
        let mut conn = world.app.connection().await.unwrap();
        let olga = people::teammate(&mut conn, acme.id, acme.owner).await.unwrap();
        let words = Some(search_terms::hash_terms(acme.id, ["zebra"]).into());
        let filter = ConversationFilter {
            view: View::Open,
            mailbox: None,
            assigned: None,
            reference: None,
            words,
            before: None,
            since: None,
            limit: 25,
        };
        let found = list(&mut conn, &olga, world.now(), &filter).await.unwrap();
        assert_eq!(found.iter().map(|summary| summary.id).collect::<Vec<_>>(), [live]);
        for refused in [
            acme.approve(acme.owner, &draft, None).await.map(drop),
            acme.discard(acme.owner, &draft).await,
            acme.undo(acme.owner, &scheduled).await,
        ] {
            assert_eq!(refused.unwrap_err().sentence(), "No such message.");
        }
        world.wait(TimeDelta::days(5));
        world.work().await;
        assert_eq!(key.message(&id, &draft).await["status"], "draft");
        assert_eq!(key.message(&id, &scheduled).await["status"], "sent");
    })
    .await;
}

/// proves: SBX-29
#[tokio::test]
async fn every_event_of_the_sandbox_says_so_and_no_live_one_does() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let live = acme.key("live", "write,send", Mode::Live).await;
        let test = acme.key("test", "write,send", Mode::Test).await;
        let real = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        let simulated = test.simulate(json!({ "from": "reply@x.test", "text": "Hello" })).await;
        for (key, id) in [(&live, real.to_string()), (&test, simulated)] {
            key.sends(&id, "Hello.").await;
            world.wait(TimeDelta::minutes(10));
            world.work().await;
            later(world).await;
        }
        let rows: Vec<(i64, bool, String)> = sqlx::query_as("select audience, livemode, body from events")
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
        assert!(rows.iter().any(|row| row.1) && rows.iter().any(|row| !row.1));
        for (audience, livemode, body) in rows {
            assert_eq!(livemode, audience != -1);
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["livemode"], livemode);
        }
    })
    .await;
}
