//! The app-mail bridge: `POST /app-mail`, its tool, plus tags, and who may join.

use serde_json::{Value, json};

use rookery_world::{Mode, ToolAnswer, World, story, story_with};

fn sent(id: &str) -> Value {
    json!({ "messageId": id, "reference": "INV-1042", "to": ["Ada <ADA@customer.test>"], "subject": "Invoice 1042" })
}

fn answer(id: &str, from: &str) -> Value {
    json!({ "from": from, "text": "Thanks!", "inReplyTo": id })
}

/// proves: MAIL-6, MAIL-8, MAIL-9, MAIL-10, MAIL-12, MAIL-27, SCOPE-7
#[tokio::test]
async fn an_app_records_what_it_sent_once_by_rest_or_by_tool() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "record", Mode::Test).await;
        let first = key.post("/app-mail", sent("<a1@app.example>")).await;
        assert_eq!((first.status, first.json()), (201, json!({ "ok": true })));
        let again = key.post("/app-mail", sent(" a1@app.example ")).await;
        assert_eq!((again.status, again.json()), (200, json!({ "ok": true })));
        let mut by_tool = sent("a1@app.example");
        by_tool["text"] = json!("Please pay.");
        by_tool["html"] = json!("<p>Please pay.</p>");
        assert!(matches!(key.tool("record_sent", by_tool).await, ToolAnswer::Done { text, .. } if text == r#"{"ok":true}"#));
        assert_eq!(records(world).await, 1);

        let wrong = key.post("/app-mail", json!({})).await;
        assert_eq!(wrong.error(), "messageId: is required; reference: is required; to: is required; subject: is required");
        let reader = acme.key("reader", "write,send", Mode::Test).await;
        let refused = reader.post("/app-mail", sent("a2@app.example")).await;
        assert_eq!((refused.status, refused.error().contains("record")), (403, true));
    })
    .await;
}

/// proves: MAIL-7
#[tokio::test]
async fn the_fields_of_a_record_have_their_form() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "record", Mode::Test).await;
        let mut wrong = Vec::new();
        for (field, value) in [
            ("messageId", json!("no-at-sign")),
            ("messageId", json!("two@at@signs")),
            ("messageId", json!("<a\u{11}b@app.example>")),
            ("messageId", json!("a\u{85}b@app.example")),
            ("reference", json!("no digit")),
            ("reference", json!("invoice")),
            ("reference", json!("7".repeat(41))),
            ("to", json!([])),
            ("to", json!("ada@customer.test")),
            ("to", json!(vec!["a@b.test"; 51])),
            ("subject", json!("x".repeat(999))),
            ("text", json!(7)),
            ("html", json!("x".repeat(500_001))),
        ] {
            let mut body = sent("a1@app.example");
            body[field] = value;
            wrong.push((body, format!("{field}: ")));
        }
        let mut body = sent("a1@app.example");
        body["to"] = json!(["ada@customer.test", "nobody"]);
        wrong.push((body, "to[1]: ".into()));
        for (body, start) in wrong {
            let reply = key.post("/app-mail", body).await;
            assert_eq!(reply.status, 400, "{start}");
            assert!(reply.error().starts_with(&start), "{}", reply.error());
        }
        assert_eq!(records(world).await, 0);
    })
    .await;
}

/// proves: MAIL-5, MAIL-13, MAIL-14, MAIL-17, MAIL-25, MAIL-28, LIST-6, LIST-28, CONV-8
#[tokio::test]
async fn an_answer_from_a_recipient_comes_back_with_the_reference_and_the_email() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "write,record", Mode::Test).await;
        let mut record = sent("a1@app.example");
        record["text"] = json!("Please pay invoice 1042.");
        key.post("/app-mail", record).await;
        let recorded = rookery_base::clock::written(world.now());
        world.wait(chrono::TimeDelta::days(1));
        let id = key.simulate(answer("<a1@app.example>", "ada@customer.test")).await;
        let read = key.conversation(&id).await;
        assert_eq!(read["reference"], "inv-1042");
        assert_eq!(
            read["appSent"],
            json!({
                "messageId": "a1@app.example", "reference": "inv-1042", "to": ["ada@customer.test"],
                "subject": "Invoice 1042", "sentAt": recorded, "text": "Please pay invoice 1042.",
            })
        );
        assert_eq!(read["timeline"].as_array().unwrap().len(), 1, "the app's mail is not a message");
        assert_eq!(key.list("").await.1[0]["reference"], "inv-1042");
        let replied = world.events("client.replied").await;
        assert_eq!(replied.len(), 1, "already the first reply");
        assert_eq!(replied[0]["data"]["reference"], "inv-1042");

        // Somebody the customer copied may answer on the same conversation.
        let later = key.simulate(answer("a1@app.example", "ada@customer.test")).await;
        assert_eq!(later, id);
        key.write(&id, "status", "set_status", json!({ "status": "closed" }), 200).await;
        assert_eq!(key.listed("reference=INV-1042&view=all").await, [id.as_str()]);
        assert!(key.listed("reference=INV-1042").await.is_empty());
        let plain = key.simulate(json!({ "from": "bo@customer.test", "text": "Hello" })).await;
        let plain = key.conversation(plain).await;
        assert_eq!((plain.get("reference"), plain.get("appSent")), (None, None));
    })
    .await;
}

/// proves: MAIL-15, MAIL-16, MAIL-26
#[tokio::test]
async fn a_stranger_or_a_failed_dmarc_gets_a_conversation_of_its_own_without_a_hint() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "write,record", Mode::Test).await;
        key.post("/app-mail", sent("a1@app.example")).await;
        let mut failed = answer("a1@app.example", "ada@customer.test");
        failed["dmarc"] = json!("fail");
        let mut shapes = Vec::new();
        for mail in [
            answer("a1@app.example", "eve@stranger.test"),
            answer("never@recorded.example", "eve@stranger.test"),
            failed,
        ] {
            let reply = key.post("/sandbox/inbound", mail).await;
            assert_eq!(reply.status, 201);
            shapes.push(reply.json().as_object().unwrap().keys().cloned().collect::<Vec<_>>());
            let read = key.conversation(reply.json()["conversationId"].as_str().unwrap()).await;
            assert_eq!((read.get("reference"), read.get("appSent")), (None, None));
        }
        shapes.dedup();
        assert_eq!(shapes.len(), 1, "no answer tells that an id is on record");
        assert!(world.events("client.replied").await.is_empty());
        // The right sender is still the first to reply.
        let id = key.simulate(answer("a1@app.example", "ada@customer.test")).await;
        assert_eq!(key.conversation(id).await["reference"], "inv-1042");
    })
    .await;
}

/// proves: MAIL-1, MAIL-2, MAIL-3, MAIL-4, MAIL-18
#[tokio::test]
async fn a_plus_tag_gives_its_reference_to_any_writer() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "write", Mode::Test).await;
        let to = |tag: &str| acme.sandbox_address.replacen('@', &format!("+{tag}@"), 1);
        let mut mail =
            json!({ "from": "ada@customer.test", "text": "Hello", "to": to("Order-77"), "dmarc": "fail" });
        let id = key.simulate(mail.clone()).await;
        assert_eq!(key.conversation(&id).await["reference"], "order-77");
        assert_eq!(world.events("client.replied").await[0]["data"]["reference"], "order-77");
        assert_eq!(
            key.simulate(mail.clone()).await,
            id,
            "the same sender and reference are one conversation"
        );
        mail["from"] = json!("bo@customer.test");
        let other = key.simulate(mail.clone()).await;
        assert_ne!(other, id, "another sender is another conversation");
        assert_eq!(key.conversation(&other).await["reference"], "order-77");
        for tag in ["news", &"7".repeat(41), "a.1", "a/1"] {
            mail["to"] = json!(to(tag));
            let id = key.simulate(mail.clone()).await;
            assert_eq!(key.conversation(&id).await.get("reference"), None, "{tag}");
        }
        mail["to"] = json!("somebody@else.test");
        let reply = key.post("/sandbox/inbound", mail).await;
        assert_eq!((reply.status, reply.error().starts_with("to: ")), (400, true));

        // Real mail, tagged in the header.
        let live = acme.key("live", "read", Mode::Live).await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let raw = "From: ada@customer.example\nTo: Help <help+INV-9@acme.example>\nSubject: Hi\n\nHello\n";
        acme.receives(inbox, raw).await;
        assert_eq!(live.list("").await.1[0]["reference"], "inv-9");
    })
    .await;
}

/// proves: MAIL-11
#[tokio::test]
async fn a_repeat_updates_until_someone_replies_and_then_only_fills_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "write,record", Mode::Test).await;
        key.post("/app-mail", sent("a1@app.example")).await;
        let changed = json!({ "messageId": "a1@app.example", "reference": "INV-2", "to": ["bo@customer.test"], "subject": "Two" });
        key.post("/app-mail", changed).await;
        let id = key.simulate(answer("a1@app.example", "bo@customer.test")).await;
        let read = key.conversation(&id).await["appSent"].clone();
        assert_eq!((&read["reference"], &read["subject"], &read["text"]), (&json!("inv-2"), &json!("Two"), &Value::Null));

        let mut widened = sent("a1@app.example");
        widened["to"] = json!(["eve@stranger.test"]);
        widened["text"] = json!("Filled in.");
        assert_eq!(key.post("/app-mail", widened.clone()).await.status, 200);
        widened["text"] = json!("Not again.");
        key.post("/app-mail", widened).await;
        let read = key.conversation(&id).await["appSent"].clone();
        assert_eq!((&read["reference"], &read["subject"], &read["text"]), (&json!("inv-2"), &json!("Two"), &json!("Filled in.")));
        assert_ne!(key.simulate(answer("a1@app.example", "eve@stranger.test")).await, id, "nobody new may join");
    })
    .await;
}

/// proves: MAIL-19
#[tokio::test]
async fn sandbox_and_live_records_never_meet() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let live = acme.key("app", "write,record", Mode::Live).await;
        let test = acme.key("app", "write,record", Mode::Test).await;
        assert_eq!(live.post("/app-mail", sent("a1@app.example")).await.status, 201);
        let id = test.simulate(answer("a1@app.example", "ada@customer.test")).await;
        assert_eq!(test.conversation(&id).await.get("reference"), None);
        assert_eq!(test.post("/app-mail", sent("a1@app.example")).await.status, 201, "not the live record");
    })
    .await;
}

/// proves: MAIL-20, MAIL-22
#[tokio::test]
async fn a_record_is_forgotten_after_thirty_days_unless_someone_replied() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "write,record", Mode::Test).await;
        key.post("/app-mail", sent("answered@app.example")).await;
        key.post("/app-mail", sent("waiting@app.example")).await;
        let id = key.simulate(answer("answered@app.example", "ada@customer.test")).await;
        world.wait(chrono::TimeDelta::days(30));
        // Not even a reply that comes before the worker does can find it.
        let late = key.simulate(answer("waiting@app.example", "ada@customer.test")).await;
        assert_eq!(key.conversation(&late).await.get("appSent"), None);
        assert_eq!(records(world).await, 2);
        world.work().await;
        assert_eq!(records(world).await, 1);
        assert_eq!(key.conversation(&id).await["appSent"]["messageId"], "answered@app.example");
    })
    .await;
}

/// proves: MAIL-21
#[tokio::test]
async fn over_the_cap_the_oldest_unanswered_records_go_first() {
    story_with(&[("APP_MAIL_MOST", "3")], async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("app", "write,record", Mode::Test).await;
        for number in 0..6 {
            world.wait(chrono::TimeDelta::seconds(1));
            key.post("/app-mail", sent(&format!("a{number}@app.example"))).await;
            if number == 0 {
                key.simulate(answer("a0@app.example", "ada@customer.test")).await;
            }
            if number == 3 {
                world.work().await;
            }
        }
        assert_eq!(
            message_ids(world).await,
            ["a0@app.example", "a3@app.example", "a4@app.example", "a5@app.example"]
        );
    })
    .await;
}

async fn records(world: &World) -> usize {
    message_ids(world).await.len()
}

async fn message_ids(world: &World) -> Vec<String> {
    let rows = sqlx::query_scalar("select message_id from app_mail order by message_id");
    rows.fetch_all(&world.app.pool).await.expect("records can be read")
}
