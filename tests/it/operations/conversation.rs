//! `GET /conversations/{id}`: the full form, the timeline and the team.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use rookery_base::ids::PersonId;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::{Key, Message, Mode, World, story};

/// proves: CONV-1, CONV-2, CONV-3, CONV-5, CONV-11, CONV-13
#[tokio::test]
async fn the_full_form_has_the_inboxs_address_and_neither_snippet_nor_count() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("Help@Acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "Anna Berg <anna@customer.example>", "Late parcel", "Where is it?").await;
        let conversation = key.conversation(id).await;
        let message = conversation["timeline"][0]["id"].as_str().unwrap();
        assert!(message.starts_with("msg_"), "{message}");
        assert_eq!(
            conversation,
            json!({
                "id": id.to_string(),
                "subject": "Late parcel",
                "status": "open",
                "contact": { "name": "Anna Berg", "email": "anna@customer.example" },
                "mailbox": "help@acme.example",
                "lastMessageAt": "2031-01-06T09:00:00.000Z",
                "assignee": null,
                "tags": [],
                "topic": null,
                "urgency": null,
                "risk": null,
                "riskReasons": [],
                "snoozedUntil": null,
                "timeline": [{
                    "type": "message",
                    "id": message,
                    "at": "2031-01-06T09:00:00.000Z",
                    "direction": "inbound",
                    "from": { "name": "Anna Berg", "email": "anna@customer.example" },
                    "status": null,
                    "text": "Where is it?",
                    "attachments": [],
                    "to": ["team@rookery.example"],
                    "cc": [],
                    "senderConfirmed": false,
                    "secure": false,
                }],
                "team": {
                    "people": [{ "id": format!("user:{}", acme.owner), "name": "Olga Owner" }],
                    "agents": [{ "id": format!("agent:{}", key.agent), "name": "bot" }],
                },
            })
        );
        acme.set(id, "snoozed_until = '2031-01-08T07:30:00.125Z', reference = 'inv-7'").await;
        acme.tag(id, "VIP").await;
        let conversation = key.conversation(id).await;
        assert_eq!(conversation["snoozedUntil"], "2031-01-08T07:30:00.125Z");
        assert_eq!(conversation["reference"], "inv-7");
        assert_eq!(conversation["tags"], json!(["VIP"]));
        acme.receives(support, "Subject: who?\n\nNobody says who wrote this.\n").await;
        let nameless = key.listed("q=nobody").await.pop().expect("it is there");
        let from = &key.conversation(nameless).await["timeline"][0]["from"];
        assert!(from["email"].is_string() && from["name"].is_null(), "{from}");
    })
    .await;
}

/// proves: CONV-9, CONV-10, CONV-12, CONV-17, CONV-18
#[tokio::test]
async fn the_timeline_tells_messages_notes_and_events_oldest_first() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        // Three items of one instant keep the order in which they were written.
        let note = acme.note(id, "Olga Owner", "She is a\nVIP").await;
        for status in ["sent", "failed"] {
            acme.outbound(id, Message { status, text: status, rfc_message_id: None }).await;
        }
        world.wait(TimeDelta::minutes(1));
        let ours = Message { status: "sending", text: "sending", rfc_message_id: Some("ours@acme.example") };
        acme.outbound(id, ours).await;
        acme.set(id, "status = 'waiting', announced_turn = 'theirs'").await;
        world.wait(TimeDelta::minutes(1));
        let answer = "From: anna@customer.example\nIn-Reply-To: <ours@acme.example>\n\nThanks\n";
        acme.receives(support, answer).await;
        for status in ["scheduled", "draft"] {
            acme.outbound(id, Message { status, text: status, rfc_message_id: None }).await;
        }
        let conversation = key.conversation(id).await;
        let timeline = conversation["timeline"].as_array().unwrap();
        let told: Vec<_> = timeline
            .iter()
            .map(|item| match item["type"].as_str().unwrap() {
                "message" => format!("{} {} {}", item["direction"], item["status"], item["text"]),
                other => other.to_owned(),
            })
            .collect();
        assert_eq!(
            told,
            [
                r#""inbound" null "Hello""#,
                "note",
                r#""outbound" "sent" "sent""#,
                r#""outbound" "failed" "failed""#,
                r#""outbound" "sending" "sending""#,
                r#""inbound" null "Thanks""#,
                "event",
                r#""outbound" "scheduled" "scheduled""#,
                r#""outbound" "draft" "draft""#,
            ]
        );
        assert_eq!(
            timeline[1],
            json!({
                "type": "note",
                "id": note.to_string(),
                "at": "2031-01-06T09:00:00.000Z",
                "author": "Olga Owner",
                "body": "She is a\nVIP",
            })
        );
        assert_eq!(timeline[4]["from"], json!({ "name": "Support", "email": "help@acme.example" }));
        assert_eq!(
            timeline[6],
            json!({
                "type": "event",
                "at": "2031-01-06T09:02:00.000Z",
                "actor": "System",
                "event": "status",
                "data": { "from": "waiting", "to": "open", "reason": "reply" },
            })
        );
        let times: Vec<_> = timeline.iter().map(|item| item["at"].as_str().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
    })
    .await;
}

/// proves: CONV-14, CONV-15
#[tokio::test]
async fn a_text_is_shown_without_history_and_cut_after_exactly_8000_characters() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let history = "\n\nOn Tue, Mar 12, 2026 at 10:00 AM Bob <bob@acme.example> wrote:\n> Old words.\n";
        for letter in ["x", "é", "🐦"] {
            for length in [7_999, 8_000, 8_001] {
                let text = letter.repeat(length);
                let id = acme.mail(support, "anna@customer.example", "Long", &(text.clone() + history)).await;
                let shown = key.conversation(id).await["timeline"][0]["text"].clone();
                let wanted: String = text.chars().take(8_000).collect();
                assert!(shown == *wanted, "{length} times {letter}");
            }
        }
        let id = acme.mail(support, "anna@customer.example", "Quote", "> All of it is quoted.").await;
        assert_eq!(key.conversation(id).await["timeline"][0]["text"], "> All of it is quoted.");
        let html = "Message-ID: <h@c>\nFrom: anna@customer.example\nContent-Type: text/html\n\n\
            <p>Dear <b>team</b>,<script>x()</script></p><p>Bye</p>\n";
        acme.receives(support, html).await;
        let id = key.listed("q=dear").await.pop().unwrap();
        let text = key.conversation(id).await["timeline"][0]["text"].clone();
        assert!(!text.as_str().unwrap().contains(['<', '(']), "{text}");
    })
    .await;
}

/// proves: CONV-16
#[tokio::test]
async fn attachments_show_name_type_and_decoded_size_and_nothing_of_their_content() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let raw = "Message-ID: <f@c>\nFrom: anna@customer.example\nSubject: Files\n\
            Content-Type: multipart/mixed; boundary=b\n\n\
            --b\nContent-Type: text/plain\n\nSee the files.\n\
            --b\nContent-Type: APPLICATION/PDF; name=\"../Rechnung März.pdf\"\n\
            Content-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nc2VjcmV0IGNvbnRlbnQ=\n\
            --b\nContent-Type: image/png; name=logo.png\nContent-Disposition: inline\n\n12345\n--b--\n";
        acme.receives(support, raw).await;
        let id = key.listed("").await.pop().unwrap();
        let mut conversation = key.conversation(id).await;
        let document =
            conversation["timeline"][0]["attachments"][0].as_object_mut().unwrap().remove("documentId");
        assert!(document.is_some_and(|id| id.as_str().unwrap().starts_with("doc_")), "it is filed");
        assert_eq!(
            conversation["timeline"][0]["attachments"],
            json!([
                { "filename": "Rechnung März.pdf", "contentType": "application/pdf", "size": 14 },
                { "filename": "logo.png", "contentType": "image/png", "size": 5 },
            ])
        );
        let text = conversation.to_string();
        assert!(!text.contains("c2VjcmV0") && !text.contains("secret content"), "{text}");
    })
    .await;
}

/// proves: CONV-4
#[tokio::test]
async fn a_risk_has_one_to_three_reasons_and_no_risk_has_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let harmless = acme.mail(support, "anna@customer.example", "Parcel", "Where is my parcel?").await;
        let conversation = key.conversation(harmless).await;
        assert_eq!((&conversation["risk"], &conversation["riskReasons"]), (&json!(null), &json!([])));
        let text = "Urgent: verify your password at http://x.example within 24 hours. \
            We have new bank details. Buy a gift card and send the codes.";
        let scam = acme.mail(support, "Olga Owner <olga@acme-support.example>", "Urgent", text).await;
        let conversation = key.conversation(scam).await;
        assert!(conversation["risk"].is_string());
        let reasons = conversation["riskReasons"].as_array().unwrap();
        assert_eq!(reasons.len(), 3, "more signals than that were there: {reasons:?}");
        assert!(reasons.iter().all(|reason| reason.as_str().is_some_and(|reason| reason.ends_with('.'))));
    })
    .await;
}

/// proves: CONV-6
#[tokio::test]
async fn the_team_is_whoever_can_see_the_inbox_by_name() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("adam admin", Role::Admin).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let gone = acme.person("Gone Person", Role::Admin).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let zed = acme.key("Zed", "read", Mode::Live).await;
        let adams = acme.key_of(adam, "bot", "read", Mode::Live).await;
        acme.key_of(gone, "orphan", "read", Mode::Live).await;
        let revoked = acme.key("revoked", "read", Mode::Live).await;
        acme.revoke(&revoked).await;
        let test = acme.key("tester", "write", Mode::Test).await;
        let second = acme.key("Another", "read", Mode::Test).await;
        remove(world, gone.0).await;

        let person = |id: PersonId, name: &str| json!({ "id": format!("user:{id}"), "name": name });
        let agent = |key: &Key<'_>, name: &str| json!({ "id": format!("agent:{}", key.agent), "name": name });
        let team = async |key: &Key<'_>, id: String| key.conversation(id).await["team"].clone();

        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        let all = json!({
            "people": [person(adam, "adam admin"), person(mia, "Mia Member"), person(acme.owner, "Olga Owner")],
            "agents": [agent(&adams, "bot"), agent(&zed, "Zed")],
        });
        assert_eq!(team(&adams, id.to_string()).await, all);

        let id = acme.mail(olgas, "anna@customer.example", "Parcel", "Hello").await;
        let olga_alone = json!({ "people": [person(acme.owner, "Olga Owner")], "agents": [agent(&zed, "Zed")] });
        assert_eq!(team(&zed, id.to_string()).await, olga_alone);

        let id = test.simulate(json!({ "from": "anna@customer.test", "text": "Hello" })).await;
        let testers = json!({ "people": [], "agents": [agent(&second, "Another"), agent(&test, "tester")] });
        assert_eq!(team(&test, id).await, testers);
    })
    .await;
}

/// proves: CONV-20
#[tokio::test]
async fn reading_leaves_every_row_as_it_was() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        acme.set(id, "status = 'waiting', snoozed_until = '2031-01-06T09:30:00Z'").await;
        key.conversation(id).await;
        let before = rows(world).await;
        assert!(before["conversations"] != json!(null) && before["events"] != json!(null));
        // The second read comes after the snooze has run out.
        for _ in 0..2 {
            key.conversation(id).await;
            world.wait(TimeDelta::hours(1));
        }
        assert_eq!(rows(world).await, before);
    })
    .await;
}

/// Every row of every table, but for the request count, which is no part of a conversation.
async fn rows(world: &World) -> BTreeMap<String, Value> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.tables
         where table_schema = 'public' and table_name not in ('rate_blocks', '_sqlx_migrations')",
    )
    .fetch_all(&world.app.pool)
    .await
    .expect("tables can be listed");
    let mut all = BTreeMap::new();
    for table in tables {
        let statement = format!("select to_jsonb(array_agg(t order by t::text)) from {table} t");
        let rows: Option<Value> = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
            .fetch_one(&world.app.pool)
            .await
            .expect("rows can be read");
        all.insert(table, rows.unwrap_or_default());
    }
    all
}

async fn remove(world: &World, person: i64) {
    sqlx::query("update people set removed_at = created_at where id = $1")
        .bind(person)
        .execute(&world.app.pool)
        .await
        .expect("a person can leave");
}
