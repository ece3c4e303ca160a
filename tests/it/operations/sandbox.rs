//! `POST /sandbox/inbound`: simulated mail, through the very pipeline of real mail.

mod clock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use rookery_base::ids::ConversationId;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, Workspace, story, story_with};

async fn refused(key: &Key<'_>, body: Value) -> String {
    let reply = key.post("/sandbox/inbound", body.clone()).await;
    assert_eq!(reply.status, 400, "{body}: {}", reply.text);
    reply.error()
}

/// The raw mail of the newest message of a conversation.
async fn raw(acme: &Workspace<'_>, conversation: &str) -> String {
    let id: ConversationId = conversation.parse().unwrap();
    let raw: Vec<u8> =
        sqlx::query_scalar("select raw from messages where conversation_id = $1 order by item desc limit 1")
            .bind(id)
            .fetch_one(&acme.world.app.pool)
            .await
            .expect("a message");
    String::from_utf8(raw).unwrap()
}

/// proves: SBX-1, SBX-2, SBX-4, SBX-28
#[tokio::test]
async fn a_simulated_mail_can_be_read_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme & Söhne").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let body = json!({
            "from": "Anna.Berg+7@Mail.Customer.TEST",
            "name": "Anna \"Ann\" Berg, Dr. 🐦",
            "subject": "Käse: wo bleibt er?",
            "text": "Hallo,\r\n\r\n.wo\n  ist 🧀?\nFrom here",
        });
        let reply = key.post("/sandbox/inbound", body).await;
        assert_eq!(reply.status, 201);
        let answer = reply.json();
        let (id, message) = (&answer["conversationId"], &answer["messageId"]);
        assert_eq!(answer, json!({ "ok": true, "conversationId": id, "messageId": message }));
        let conversation = key.conversation(id.as_str().unwrap()).await;
        assert_eq!(conversation["id"], *id);
        assert_eq!(conversation["subject"], "Käse: wo bleibt er?");
        let contact =
            json!({ "name": "Anna \"Ann\" Berg, Dr. 🐦", "email": "anna.berg+7@mail.customer.test" });
        assert_eq!(conversation["contact"], contact);
        assert_eq!((&conversation["status"], &conversation["risk"]), (&json!("open"), &json!(null)));
        assert_eq!(
            conversation["timeline"],
            json!([{
                "type": "message",
                "id": message,
                "at": "2031-01-06T09:00:00.000Z",
                "direction": "inbound",
                "from": contact,
                "status": null,
                "text": "Hallo,\n\n.wo\n  ist 🧀?\nFrom here",
                "attachments": [],
                "to": ["sandbox@acme-sohne.test"],
                "cc": [],
                "senderConfirmed": true,
                "secure": false,
            }])
        );
        assert_eq!(conversation["mailbox"], *acme.sandbox_address);
        assert_eq!(acme.sandbox_address, "sandbox@acme-sohne.test");
        assert_eq!(key.listed("q=käse").await, [id.as_str().unwrap()]);
    })
    .await;
}

/// proves: SBX-3
#[tokio::test]
async fn the_sender_must_be_on_a_test_domain() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let sentence = "from: must be a mail address on a .test domain";
        for from in [
            "anna@customer.example",
            "anna@test",
            "anna@test.com",
            "anna@customer.test.",
            "anna@customer.testing",
            "anna@customer.atest",
            "anna@.test",
            "@customer.test",
            "customer.test",
            "a@b@c.test",
            "",
            "anna <a@b.test>",
            "a@b.test, c@d.test",
            "anna@customer.test\nBcc: x@y.test",
            "an na@b.test",
            "anna@customer .test",
            "a@b.example\n@c.test",
        ] {
            assert_eq!(refused(&key, json!({ "from": from, "text": "Hi" })).await, sentence, "{from:?}");
        }
        let long = format!("{}@b.test", "a".repeat(248));
        assert_eq!(
            refused(&key, json!({ "from": long, "text": "Hi" })).await,
            "from: must be at most 254 characters"
        );
        assert_eq!(refused(&key, json!({ "text": "Hi" })).await, "from: is required");
        for (from, email) in [
            ("a@b.test", "a@b.test"),
            ("A@B.C.D.TeSt", "a@b.c.d.test"),
            (&long[1..], &long[1..]),
            ("o'neil@b.test", "o'neil@b.test"),
            ("x=y_z-1.2@xn--bcher-kva.test", "x=y_z-1.2@xn--bcher-kva.test"),
            ("jürgen@b.test", "jürgen@b.test"),
        ] {
            let id = key.simulate(json!({ "from": from, "text": "Hi" })).await;
            let conversation = key.conversation(id).await;
            assert_eq!(conversation["contact"], json!({ "name": null, "email": email }), "{from}");
            assert_eq!(conversation["risk"], json!(null), "{from}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_address_that_cannot_be_a_contact_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        for from in [
            "\"a b\"@c.test",
            "a(b)@c.test",
            "a\\b@c.test",
            "a\u{200b}b@c.test",
            "a:b@c.test",
            "a\u{7}b@c.test",
        ] {
            let error = refused(&key, json!({ "from": from, "text": "Hi" })).await;
            assert_eq!(error, "from: must be a mail address on a .test domain", "{from:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn every_wrong_field_is_named_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        for (body, sentence) in [
            (json!({}), "from: is required; text: is required"),
            (json!({ "from": "a@b.test", "text": " \n" }), "text: must not be blank"),
            (
                json!({ "from": 1, "name": true, "subject": [], "text": {} }),
                "from: must be a string; name: must be a string; \
                 subject: must be a string; text: must be a string",
            ),
            (
                json!({
                    "from": "a@b.test",
                    "name": "n".repeat(201),
                    "subject": "s".repeat(999),
                    "text": "t".repeat(100_001),
                }),
                "name: must be at most 200 characters; subject: must be at most 998 characters; \
                 text: must be at most 100000 characters",
            ),
            (json!({ "from": "a@b.test", "text": "a\u{0}b" }), "text: must not contain U+0000"),
            (
                json!({ "from": "a@b.test", "text": "t", "conversationId": "cnv_X" }),
                "conversationId: must be a conversation id",
            ),
            (
                json!({ "from": "a@b.test", "text": "t", "conversationId": "msg_1" }),
                "conversationId: must be a conversation id",
            ),
            (
                json!({
                    "from": "a@b.test",
                    "text": "t",
                    "attachments": [{ "filename": "", "contentType": "pdf", "content": "%" }, {}],
                }),
                "attachments[0].filename: must not be blank; \
                 attachments[0].contentType: must look like application/pdf; \
                 attachments[0].content: must be base64; \
                 attachments[1].filename: is required; attachments[1].contentType: is required; \
                 attachments[1].content: is required",
            ),
        ] {
            assert_eq!(refused(&key, body).await, sentence);
        }
        let file = json!({ "filename": "a", "contentType": "a/b", "content": "" });
        let six = json!({ "from": "a@b.test", "text": "t", "attachments": vec![file; 6] });
        assert_eq!(refused(&key, six).await, "attachments: must have at most 5 items");
        assert_eq!(key.listed("").await, [""; 0], "nothing was stored");
        let longest = json!({
            "from": "a@b.test",
            "name": "n".repeat(200),
            "subject": "s".repeat(998),
            "text": "🐦".repeat(100_000),
        });
        let id = key.simulate(longest).await;
        let conversation = key.conversation(id).await;
        assert_eq!(conversation["contact"]["name"], *"n".repeat(200));
        assert_eq!(conversation["subject"], *"s".repeat(500), "a subject is cut at 500 characters");
    })
    .await;
}

/// proves: SBX-5, SBX-7
#[tokio::test]
async fn a_reply_joins_its_conversation_and_reopens_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let first = json!({ "from": "anna@customer.test", "subject": "Parcel", "text": "Hi" });
        let id = key.simulate(first).await;
        for status in ["closed", "waiting", "open"] {
            let turn = match status {
                "closed" => "done",
                "waiting" => "theirs",
                _ => "ours",
            };
            let conversation: ConversationId = id.parse().unwrap();
            acme.set(conversation, &format!("status = '{status}', announced_turn = '{turn}'")).await;
            world.wait(TimeDelta::minutes(1));
            let text = format!("Still {status}?");
            let from = "anna@customer.test";
            let body = json!({ "from": from, "subject": "Other", "text": text, "conversationId": id });
            assert_eq!(key.simulate(body).await, id);
            let conversation = key.conversation(&id).await;
            assert_eq!(conversation["status"], "open");
            assert_eq!(conversation["subject"], "Parcel", "the first subject stays");
            let timeline = conversation["timeline"].as_array().unwrap();
            let message = timeline.iter().rev().find(|item| item["type"] == "message").unwrap();
            assert_eq!(message["text"], *text);
            let (_, list) = key.list("").await;
            assert_eq!(list[0]["snippet"], *text);
        }
        let (_, list) = key.list("").await;
        assert_eq!((list.as_array().unwrap().len(), &list[0]["messageCount"]), (1, &json!(4)));
        let from = "colleague@elsewhere.test";
        let elsewhere = json!({ "from": from, "name": "Cole", "text": "Me too", "conversationId": id });
        assert_eq!(key.simulate(elsewhere).await, id, "any .test sender may join");
        let conversation = key.conversation(&id).await;
        assert_eq!(conversation["contact"]["email"], "anna@customer.test");
        let last = conversation["timeline"].as_array().unwrap().last().unwrap();
        assert_eq!(last["from"], json!({ "name": "Cole", "email": "colleague@elsewhere.test" }));
    })
    .await;
}

/// proves: SBX-6
#[tokio::test]
async fn a_reply_to_what_is_not_in_this_sandbox_is_404_and_stores_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let their_key = other.key("tester", "write", Mode::Test).await;
        let live = acme.mail(support, "anna@customer.example", "Hm", "Hello").await.to_string();
        let foreign = their_key.simulate(json!({ "from": "a@b.test", "text": "Hi" })).await;
        for id in ["cnv_0000000000001", "cnv_1", &live, &foreign] {
            let body = json!({ "from": "a@b.test", "text": "Hi", "conversationId": id });
            let reply = key.post("/sandbox/inbound", body).await;
            assert_eq!(
                (reply.status, reply.text.as_str()),
                (404, r#"{"error":"No such conversation."}"#),
                "{id}"
            );
        }
        let stored: i64 =
            sqlx::query_scalar("select count(*) from messages").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(stored, 2, "the live mail and the foreign one");
    })
    .await;
}

#[tokio::test]
async fn without_a_subject_there_is_a_default_one() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        for subject in [json!(null), json!(""), json!(" \t")] {
            let id = key.simulate(json!({ "from": "a@b.test", "text": "Hi", "subject": subject })).await;
            assert_eq!(key.conversation(id).await["subject"], "(no subject)");
        }
        let id = key.simulate(json!({ "from": "a@b.test", "text": "Hi", "subject": "Parcel" })).await;
        key.simulate(json!({ "from": "a@b.test", "text": "Hi", "conversationId": id })).await;
        let raw = raw(&acme, &id).await;
        assert!(raw.lines().any(|line| line.trim_end() == "Subject: Re: Parcel"), "{raw}");
    })
    .await;
}

/// proves: SBX-21, SBX-22, SBX-23
#[tokio::test]
async fn files_are_filed_scams_are_marked_and_helpers_leave_sandbox_mail_alone() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let file = |name: &str, content_type: &str, content: &[u8]| {
            json!({ "filename": name, "contentType": content_type, "content": STANDARD.encode(content) })
        };
        let files = [
            file("Rechnung März.pdf", "application/pdf", b"%PDF-1.7 an invoice over 12.00 EUR"),
            file("note.txt", "text/plain", b"a plain file is a file too"),
            file("empty.bin", "application/octet-stream", b""),
        ];
        let subject = "Urgent invoice";
        let body = json!({ "from": "a@b.test", "subject": subject, "text": "Hi", "attachments": files });
        let id = key.simulate(body).await;
        world.work().await;
        let mut conversation = key.conversation(&id).await;
        for file in conversation["timeline"][0]["attachments"].as_array_mut().unwrap() {
            assert!(file.as_object_mut().unwrap().remove("documentId").is_some(), "it is filed: {file}");
        }
        assert_eq!(
            conversation["timeline"][0]["attachments"],
            json!([
                { "filename": "Rechnung März.pdf", "contentType": "application/pdf", "size": 34 },
                { "filename": "note.txt", "contentType": "text/plain", "size": 26 },
                { "filename": "empty.bin", "contentType": "application/octet-stream", "size": 0 },
            ])
        );
        assert_eq!(conversation["timeline"].as_array().unwrap().len(), 1, "nobody drafted an answer");
        let (_, documents) = key.read("/documents", "search_documents", json!({})).await;
        let documents = documents.as_array().unwrap();
        assert_eq!(documents.len(), 3);
        for document in documents {
            assert_eq!((&document["kind"], &document["fields"]), (&json!(null), &json!({})));
            assert_eq!(document["title"], document["filename"]);
            assert_eq!(document["conversationId"], *id);
        }
        let scam = json!({ "from": "a@b.test", "text": "We have new bank details, pay to the new account." });
        let scam = key.simulate(scam).await;
        world.work().await;
        let (_, list) = key.list("").await;
        for item in list.as_array().unwrap() {
            assert_eq!((&item["topic"], &item["urgency"]), (&json!(null), &json!(null)));
        }
        let scam = key.conversation(scam).await;
        assert_eq!(scam["risk"], "payment-fraud");
        assert_eq!(scam["riskReasons"], json!(["The mail asks to pay to a new or changed bank account."]));
    })
    .await;
}

#[tokio::test]
async fn no_text_can_start_a_header_of_its_own() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let breaks = ["\r\n", "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{b}", "\u{c}"];
        for line_break in breaks {
            let evil =
                |word: &str| [word, "Auto-Submitted: yes", "Bcc: x@y.test", "", "body"].join(line_break);
            let body = json!({
                "from": "a@b.test",
                "name": evil("Name"),
                "subject": evil("Subject"),
                "text": "Hi",
                "attachments": [{ "filename": evil("File"), "contentType": "text/csv", "content": "eA==" }],
            });
            let id = key.simulate(body).await;
            let conversation = key.conversation(&id).await;
            let name = conversation["contact"]["name"].as_str().unwrap();
            let subject = conversation["subject"].as_str().unwrap();
            let file = conversation["timeline"][0]["attachments"][0]["filename"].as_str().unwrap();
            for (shown, first) in [(name, "Name"), (subject, "Subject"), (file, "File")] {
                assert!(shown.starts_with(first) && shown.ends_with("body"), "{line_break:?}: {shown:?}");
                let lines = breaks.iter().any(|mark| shown.contains(mark));
                assert!(!lines && !shown.chars().any(char::is_control), "{line_break:?}: {shown:?}");
            }
            assert_eq!(conversation["contact"]["email"], "a@b.test");
            assert_eq!(conversation["timeline"][0]["text"], "Hi");
            let raw = raw(&acme, &id).await;
            let injected = ["auto-submitted:", "bcc:"];
            let head = raw.split("\r\n\r\n").next().unwrap().to_lowercase();
            assert!(!head.lines().any(|line| injected.iter().any(|name| line.starts_with(name))), "{head}");
            // A reply takes the subject along.
            key.simulate(json!({ "from": "a@b.test", "text": "Hi", "conversationId": id })).await;
        }
        for name in ["Anna <boss@acme.example>", "a, b@c.test", "\"", "\\\"", "(x)", ":;", "=?utf-8?q?x?="] {
            let id = key.simulate(json!({ "from": "a@b.test", "name": name, "text": "Hi" })).await;
            assert_eq!(key.conversation(id).await["contact"]["email"], "a@b.test", "{name}");
        }
    })
    .await;
}

/// proves: SBX-9
#[tokio::test]
async fn the_sandbox_takes_120_mails_a_minute_over_all_test_keys() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let keys = [acme.key("one", "write", Mode::Test).await, acme.key("two", "write", Mode::Test).await];
        let mail = json!({ "from": "a@b.test", "text": "Hi" });
        assert_eq!(
            keys[0].post("/sandbox/inbound", json!({ "text": "Hi" })).await.status,
            400,
            "is not counted"
        );
        for number in 0..120 {
            keys[number % 2].simulate(mail.clone()).await;
        }
        for key in &keys {
            let reply = key.post("/sandbox/inbound", mail.clone()).await;
            assert_eq!((reply.status, reply.header("retry-after")), (429, Some("60")));
            assert_eq!(reply.error(), "Too many simulated emails. The sandbox takes 120 a minute.");
        }
        assert_eq!(keys[0].get("/me").await.status, 200, "other requests go on");
        let stored: i64 =
            sqlx::query_scalar("select count(*) from messages").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(stored, 120);
        other.key("theirs", "write", Mode::Test).await.simulate(mail.clone()).await;
        world.wait(TimeDelta::seconds(60));
        keys[1].simulate(mail).await;
    })
    .await;
}
