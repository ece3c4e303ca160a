//! Live mail through the pipeline: where it goes, what it moves, what is kept of it.

use std::path::Path;

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::conversations::messages::inbound::Stored;
use rookery_mail::incoming::delivery::Received;
use serde_json::{Value, json};

use rookery_world::{Message, Mode, Workspace, World, story};

fn stored(outcome: Received) -> Stored {
    match outcome {
        Received::Stored(stored) => stored,
        other => panic!("the mail was not stored: {other:?}"),
    }
}

/// Our message that a customer can answer.
async fn wrote(acme: &Workspace<'_>, conversation: ConversationId, rfc_message_id: &str) {
    let rfc_message_id = Some(rfc_message_id);
    acme.outbound(conversation, Message { status: "sent", text: "We look into it", rfc_message_id }).await;
}

fn answer(to: &str, header: &str, text: &str) -> String {
    let id: String = [to, header, text].concat().chars().filter(char::is_ascii_alphanumeric).collect();
    format!(
        "Message-ID: <{id}@customer.example>\nFrom: Anna <anna@customer.example>\nSubject: Re: Parcel\n\
         In-Reply-To: <{to}>\n{header}\n{text}\n"
    )
}

/// What the timeline tells apart from mail.
fn happened(conversation: &Value) -> Vec<(String, Value)> {
    let items = conversation["timeline"].as_array().unwrap().iter().filter(|item| item["type"] == "event");
    items.map(|item| (item["event"].as_str().unwrap().to_owned(), item["data"].clone())).collect()
}

async fn count(world: &World, table: &str) -> i64 {
    let statement = format!("select count(*) from {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_one(&world.app.pool).await.unwrap()
}

fn files_below(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { 1 }).sum()
}

/// proves: MSG-12
#[tokio::test]
async fn an_answer_to_our_mail_joins_its_conversation_in_that_inbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let first = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        let second = acme.mail(support, "anna@customer.example", "Letter", "Hello").await;
        wrote(&acme, first, "one@acme.example").await;
        wrote(&acme, second, "two@acme.example").await;
        let raw = |id: &str, headers: &str| {
            format!(
                "Message-ID: <{id}@c>\nFrom: anna@customer.example\nSubject: Anything\n{headers}\n\nThanks\n"
            )
        };
        for (id, headers, joined) in [
            ("a", "In-Reply-To: <one@acme.example>", Some(first)),
            ("b", "References: <x@y> <two@acme.example>\n <z@y>", Some(second)),
            ("c", "In-Reply-To: <unknown@acme.example>\nReferences: <one@acme.example>", Some(first)),
            // What is answered counts more than what is named besides, and the newest name most.
            ("d", "In-Reply-To: <one@acme.example>\nReferences: <two@acme.example>", Some(first)),
            ("e", "References: <one@acme.example> <two@acme.example>", Some(second)),
            ("f", "In-Reply-To: <ONE@acme.example>", None),
            ("g", "In-Reply-To: <unknown@acme.example>", None),
            ("h", "X-In-Reply-To: <one@acme.example>", None),
        ] {
            let place = stored(acme.receives(support, &raw(id, headers)).await);
            let new = ![first, second].contains(&place.conversation);
            assert_eq!((!new).then_some(place.conversation), joined, "{headers}");
        }
        // The same answer at another inbox is a conversation of that inbox.
        let elsewhere = stored(acme.receives(sales, &raw("i", "In-Reply-To: <one@acme.example>")).await);
        assert!(![first, second].contains(&elsewhere.conversation));
        assert_eq!(key.listed(&format!("mailbox={sales}")).await, [elsewhere.conversation.to_string()]);
        assert_eq!(key.conversation(first).await["timeline"].as_array().unwrap().len(), 5);
    })
    .await;
}

/// proves: MSG-13
#[tokio::test]
async fn equal_subjects_and_senders_never_join() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let first = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        wrote(&acme, first, "one@acme.example").await;
        for subject in ["Parcel", "Re: Parcel", "RE: Parcel"] {
            let other = acme.mail(support, "anna@customer.example", subject, "Hello").await;
            assert_ne!(first, other, "{subject}");
        }
        assert_eq!(key.listed("").await.len(), 4);
    })
    .await;
}

/// proves: STAT-9
#[tokio::test]
async fn a_customers_mail_reopens_what_was_waiting_or_closed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        for status in ["open", "waiting", "closed"] {
            let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
            let ours = format!("{status}@acme.example");
            wrote(&acme, id, &ours).await;
            acme.set(id, &format!("status = '{status}'")).await;
            // There is no age at which a conversation stays closed.
            world.wait(TimeDelta::days(400));
            acme.receives(support, &answer(&ours, "", "One more thing")).await;
            let conversation = key.conversation(id).await;
            assert_eq!(conversation["status"], "open", "{status}");
            let changed = ("status".to_owned(), json!({ "from": status, "to": "open", "reason": "reply" }));
            let wanted = if status == "open" { vec![] } else { vec![changed] };
            assert_eq!(happened(&conversation), wanted, "{status}");
            let at = conversation["lastMessageAt"].as_str().unwrap();
            assert_eq!(at, rookery_base::clock::written(world.now()));
        }
    })
    .await;
}

/// proves: STAT-13
#[tokio::test]
async fn a_snooze_ends_when_its_time_passes_or_the_customer_writes() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut ids = Vec::new();
        for ours in ["one@acme.example", "two@acme.example"] {
            let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
            wrote(&acme, id, ours).await;
            acme.set(
                id,
                "status = 'waiting', announced_turn = 'theirs', snoozed_until = '2031-01-06T12:00:00Z'",
            )
            .await;
            ids.push(id);
        }
        let [replied, left] = ids[..] else { unreachable!() };
        acme.receives(support, &answer("one@acme.example", "", "Not waiting")).await;
        let conversation = key.conversation(replied).await;
        assert_eq!((&conversation["status"], &conversation["snoozedUntil"]), (&json!("open"), &json!(null)));
        assert_eq!(
            happened(&conversation),
            [
                ("unsnoozed".to_owned(), json!({ "reason": "reply" })),
                ("status".to_owned(), json!({ "from": "waiting", "to": "open", "reason": "reply" })),
            ]
        );
        assert_eq!(key.listed("view=snoozed").await, [left.to_string()]);
        world.wait(TimeDelta::hours(3));
        assert_eq!(key.listed("view=snoozed").await, [""; 0]);
        let conversation = key.conversation(left).await;
        assert_eq!((&conversation["status"], &conversation["snoozedUntil"]), (&json!("open"), &json!(null)));
    })
    .await;
}

/// proves: STAT-15
#[tokio::test]
async fn automatic_mail_is_shown_and_moves_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        wrote(&acme, id, "one@acme.example").await;
        let snoozed = "snoozed_until = '2031-02-01T12:00:00Z'";
        let turns = world.events("turn.changed").await;
        for (status, turn, snooze) in [
            ("waiting", "theirs", snoozed),
            ("closed", "done", "snoozed_until = null"),
            ("open", "ours", snoozed),
        ] {
            acme.set(id, &format!("status = '{status}', announced_turn = '{turn}', {snooze}")).await;
            for header in
                ["Auto-Submitted: auto-replied", "X-Autoreply: yes", "Precedence: bulk", "Return-Path: <>"]
            {
                let before = key.conversation(id).await;
                let text = format!("I am away, {status} {header}");
                acme.receives(support, &answer("one@acme.example", &format!("{header}\n"), &text)).await;
                let after = key.conversation(id).await;
                assert_eq!(
                    (&after["status"], &after["snoozedUntil"]),
                    (&before["status"], &before["snoozedUntil"])
                );
                let [before, after] = [&before, &after].map(|read| read["timeline"].as_array().unwrap());
                assert_eq!(after.len(), before.len() + 1, "{header}");
                assert_eq!(after.last().unwrap()["text"], *text);
            }
        }
        assert_eq!(world.events("turn.changed").await, turns);
        assert_eq!(world.events("client.replied").await, [] as [Value; 0]);
        // "no" says that a person wrote it.
        acme.set(id, "status = 'waiting', announced_turn = 'theirs', snoozed_until = null").await;
        acme.receives(support, &answer("one@acme.example", "Auto-Submitted: no\n", "I am back")).await;
        assert_eq!(key.conversation(id).await["status"], "open");
    })
    .await;
}

/// proves: MSG-15
#[tokio::test]
async fn the_same_mail_delivered_twice_is_stored_once_in_each_inbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let blobs = world.app.config.blobs.to_file_path().unwrap();
        let file = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHello\n--b\n\
            Content-Type: application/pdf\n\npdf\n--b--\n";
        for id in ["Message-ID: <same@customer.example>\n", ""] {
            let raw = format!("{id}From: anna@customer.example\nSubject: Parcel\n{file}");
            let first = stored(acme.receives(support, &raw).await);
            let (rows, files) = (count(world, "messages").await, files_below(&blobs));
            let again = format!("Received: from a by b\nX-Spam: no\n{raw}\n\n");
            for twin in [raw.clone(), again] {
                match acme.receives(support, &twin).await {
                    Received::Duplicate(place) => assert_eq!(place, first),
                    other => panic!("a second copy was {other:?}"),
                }
            }
            assert_eq!(count(world, "messages").await, rows);
            assert_eq!(files_below(&blobs), files, "its bytes are not kept a second time");
            let elsewhere = stored(acme.receives(sales, &raw).await);
            assert_ne!(elsewhere.conversation, first.conversation, "one conversation for each inbox");
        }
        assert_eq!((count(world, "conversations").await, count(world, "documents").await), (4, 4));
        assert_eq!(world.events("turn.changed").await.len(), 4, "what is stored once happens once");
    })
    .await;
}

/// Ten copies at once: a relay that sends again while the first try is still at work.
#[tokio::test]
async fn copies_that_arrive_at_the_same_moment_are_one_mail() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        // Large enough for a file of its own.
        let text = "Hello. ".repeat(10_000);
        let raw = format!("Message-ID: <same@customer.example>\nFrom: anna@customer.example\n\n{text}\n");
        let outcomes = futures::future::join_all((0..10).map(|_| acme.receives(support, &raw))).await;
        let mut places = Vec::new();
        for outcome in outcomes {
            match outcome {
                Received::Stored(place) | Received::Duplicate(place) => places.push(place),
                other @ Received::Refused(_) => panic!("{other:?}"),
            }
        }
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
        assert_eq!((count(world, "conversations").await, count(world, "messages").await), (1, 1));
        assert_eq!(files_below(&world.app.config.blobs.to_file_path().unwrap()), 1);
    })
    .await;
}

#[tokio::test]
async fn a_known_message_id_with_other_content_is_kept_and_flagged() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let raw =
            "Message-ID: <same@customer.example>\nFrom: anna@customer.example\nSubject: Parcel\n\nHello\n";
        let first = stored(acme.receives(support, raw).await);
        let second = stored(acme.receives(support, &raw.replace("Hello", "Pay here")).await);
        assert_ne!(first.conversation, second.conversation);
        assert_eq!(key.conversation(first.conversation).await["risk"], json!(null));
        let flagged = key.conversation(second.conversation).await;
        assert_eq!(flagged["risk"], "impersonation");
        let reason = "The mail reuses the identity of an earlier mail with other content.";
        assert_eq!(flagged["riskReasons"], json!([reason]));
    })
    .await;
}

#[tokio::test]
async fn the_same_file_is_filed_once_in_a_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let with_file = |headers: &str, name: &str, content: &str| {
            format!(
                "{headers}From: anna@customer.example\nContent-Type: multipart/mixed; boundary=b\n\n\
                 --b\n\nHello {name}\n\
                 --b\nContent-Type: application/pdf\n\
                 Content-Disposition: attachment; filename={name}\n\n{content}\n--b--\n"
            )
        };
        let first = stored(acme.receives(support, &with_file("", "a.pdf", "one")).await).conversation;
        wrote(&acme, first, "one@acme.example").await;
        let joins = "In-Reply-To: <one@acme.example>\n";
        for (headers, name, content, documents) in
            [(joins, "again.pdf", "one", 1), (joins, "b.pdf", "two", 2), ("", "c.pdf", "one", 3)]
        {
            acme.receives(support, &with_file(headers, name, content)).await;
            assert_eq!(count(world, "documents").await, documents, "{name}");
        }
        let key = acme.key("bot", "read", Mode::Live).await;
        let (_, list) = key.read("/documents?q=b.pdf", "search_documents", json!({ "q": "b.pdf" })).await;
        assert_eq!(list[0]["conversationId"], *first.to_string());
    })
    .await;
}

/// proves: HLP-5
#[tokio::test]
async fn a_risk_is_a_label_with_reasons_and_nothing_looks_wrong_with_ordinary_mail() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let judged = async |id: ConversationId| {
            let read = key.conversation(id).await;
            let (_, list) = key.list("limit=100").await;
            let summary = list.as_array().unwrap().iter().find(|item| item["id"] == *id.to_string()).unwrap();
            assert_eq!(summary["risk"], read["risk"], "the list and the read agree");
            (read["risk"].clone(), read["riskReasons"].as_array().unwrap().len())
        };
        for (from, text, risk) in [
            ("anna@customer.example", "Where is my parcel? I forgot my password.", None),
            ("anna@customer.example", "Please note our new bank details.", Some("payment-fraud")),
            ("Olga Owner <olga@elsewhere.example>", "Call me", Some("impersonation")),
            ("Acme Support <x@elsewhere.example>", "Hello", Some("impersonation")),
            ("x@elsewhere.example", "Urgent: verify your account.", Some("phishing")),
        ] {
            let id = acme.mail(support, from, "Hello", text).await;
            let (label, reasons) = judged(id).await;
            assert_eq!(label, json!(risk), "{text}");
            assert_eq!((1..=3).contains(&reasons), risk.is_some(), "{text}: {reasons}");
        }
        // A new sender in somebody's thread is one signal, too little for a label of its own.
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        wrote(&acme, id, "one@acme.example").await;
        let colleague = answer("one@acme.example", "", "Verify your password.").replace("anna@", "ben@");
        acme.receives_confirmed(support, &colleague).await;
        assert_eq!(judged(id).await.0, "phishing");
        let reasons = key.conversation(id).await["riskReasons"].to_string();
        assert!(reasons.contains("The sender was not part of this conversation before."), "{reasons}");
    })
    .await;
}

#[tokio::test]
async fn mail_that_cannot_be_read_is_refused_and_leaves_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support: MailboxId = acme.mailbox("help@acme.example", "Support").await;
        let loop_of_servers = format!("{}From: a@b.example\n\nHello\n", "Received: from x by y\n".repeat(51));
        for raw in ["", "no header at all", &loop_of_servers] {
            assert!(matches!(acme.receives(support, raw).await, Received::Refused(_)), "{raw}");
        }
        assert_eq!((count(world, "conversations").await, count(world, "events").await), (0, 0));
        assert_eq!(files_below(&world.app.config.blobs.to_file_path().unwrap()), 0);
    })
    .await;
}
