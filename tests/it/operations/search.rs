//! `GET /conversations?q=…`: which words find which conversations.

use chrono::TimeDelta;
use rookery_base::ids::ConversationId;

use super::parameter;
use rookery_world::UNHURRIED;
use rookery_world::{Key, Message, Mode, story, story_with};

async fn finds(key: &Key<'_>, query: &str, wanted: &[ConversationId]) {
    let found = key.listed(&parameter("q", query)).await;
    assert_eq!(found, super::written(wanted), "{query}");
}

#[tokio::test]
async fn words_are_whole_and_all_of_them_must_occur_wherever_they_stand() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let from = "\"Žofie Müller\" <Zofie.M@Kunde.example>";
        let id = acme.mail(support, from, "Crème brûlée order", "The BLOWTORCH, please (two)!").await;
        let other = acme.mail(support, "ben@customer.example", "Order", "Nothing else").await;
        for query in [
            "blowtorch",
            "Blowtorch TWO",
            "CREME BRULEE",
            "crème",
            "cre\u{300}me",
            "ｂｌｏｗｔｏｒｃｈ",
            "Zofie",
            "müller",
            "muller",
            "zofie.m@kunde.example",
            "kunde",
            "order blowtorch muller",
            "  two,please  ",
        ] {
            finds(&key, query, &[id]).await;
        }
        for query in ["blow", "torch", "blowtorches", "order nothing blowtorch", "zebra", "blowtorch zebra"] {
            finds(&key, query, &[]).await;
        }
        let [newer, older] = if id > other { [id, other] } else { [other, id] };
        finds(&key, "order", &[newer, older]).await;
        finds(&key, "ORDER example", &[newer, older]).await;
    })
    .await;
}

/// proves: LIST-10
#[tokio::test]
async fn words_beyond_the_first_8000_characters_are_found() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let text = format!("firstword {}lastword", "lorem ipsum\n".repeat(3_000));
        let id = acme.mail(support, "anna@customer.example", "Long", &text).await;
        finds(&key, "firstword lastword", &[id]).await;
        let shown = key.conversation(id).await;
        assert!(
            !shown["timeline"][0]["text"].as_str().unwrap().contains("lastword"),
            "a read shows the start"
        );
    })
    .await;
}

#[tokio::test]
async fn sent_mail_is_found_and_drafts_and_notes_are_not() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        for (status, text) in [
            ("sent", "sentword"),
            ("scheduled", "scheduledword"),
            ("sending", "sendingword"),
            ("failed", "failedword"),
            ("draft", "draftword"),
        ] {
            acme.outbound(id, Message { status, text, rfc_message_id: None }).await;
        }
        acme.note(id, "Olga Owner", "noteword").await;
        for word in ["sentword", "scheduledword", "sendingword", "failedword"] {
            finds(&key, word, &[id]).await;
        }
        for word in ["draftword", "noteword"] {
            finds(&key, word, &[]).await;
        }
    })
    .await;
}

#[tokio::test]
async fn japanese_is_found_by_its_neighbouring_characters() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "yuki@kyaku.example", "Mail", "先月の請求書を再送してください。").await;
        for query in ["請求書", "請求", "求書", "先月の請求書", "再送して"] {
            finds(&key, query, &[id]).await;
        }
        finds(&key, "書類", &[]).await;
        finds(&key, "送請", &[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_query_without_a_word_finds_nothing_and_a_blank_one_is_no_query() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Hm", "?! ... -- 100%").await;
        for query in ["?!", "...", "% _", "'; --", "\\", "🐦"] {
            finds(&key, query, &[]).await;
        }
        for query in ["", "   ", "100%", "hm?!"] {
            finds(&key, query, &[id]).await;
        }
    })
    .await;
}

#[tokio::test]
async fn words_that_stand_in_quoted_history_only_are_found() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let text = "Thanks!\n\nOn 3/12/26 10:00, Bob wrote:\n> The quotedword stays.\n";
        let id = acme.mail(support, "anna@customer.example", "Re: Hm", text).await;
        assert_eq!(key.conversation(id).await["timeline"][0]["text"], "Thanks!");
        finds(&key, "quotedword", &[id]).await;
    })
    .await;
}

#[tokio::test]
async fn mail_is_found_right_after_it_was_stored_with_or_without_the_worker() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        finds(&key, "firstword", &[]).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "firstword").await;
        finds(&key, "firstword", &[id]).await;
        world.work().await;
        finds(&key, "firstword", &[id]).await;
        let sent = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours@acme.example") };
        acme.outbound(id, sent).await;
        let answer = "Message-ID: <a@c>\nFrom: colleague@customer.example\n\
            References: <ours@acme.example>\n\nsecondword\n";
        acme.receives_confirmed(support, answer).await;
        finds(&key, "firstword secondword colleague", &[id]).await;
        world.work().await;
        finds(&key, "firstword secondword colleague", &[id]).await;
        let third = acme.mail(support, "anna@customer.example", "Parcel", "thirdword").await;
        world.work().await;
        finds(&key, "thirdword", &[third]).await;
    })
    .await;
}

#[tokio::test]
async fn a_rare_word_in_old_mail_is_found_below_thousands_of_newer_conversations() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let old = acme.mail(support, "anna@customer.example", "Parcel", "rareword common").await;
        let closed = acme.mail(support, "anna@customer.example", "Parcel", "rareword common").await;
        acme.set(closed, "status = 'closed', reference = 'inv-1'").await;
        world.wait(TimeDelta::hours(3));
        let newer = acme.many(support, 4_600, "common").await;
        finds(&key, "rareword", &[old]).await;
        finds(&key, "common", &newer[..25]).await;
        finds(&key, "common rareword", &[old]).await;
        for (filters, wanted) in [
            (format!("mailbox={support}"), Some(old)),
            ("assigned=unassigned".into(), Some(old)),
            ("assigned=me".into(), None),
            ("view=closed".into(), Some(closed)),
            ("view=waiting".into(), None),
            ("view=all&reference=INV-1".into(), Some(closed)),
            ("reference=inv-1".into(), None),
        ] {
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            assert_eq!(key.listed(&format!("q=rareword&{filters}")).await, wanted, "{filters}");
        }
        acme.set(old, "snoozed_until = now()").await;
        assert_eq!(key.listed("q=rareword&limit=1").await, [old.to_string()], "its snooze has run out");
        acme.set(old, "snoozed_until = '2032-01-01T00:00:00Z'").await;
        finds(&key, "rareword", &[]).await;
        assert_eq!(key.listed("q=rareword&view=snoozed").await, [old.to_string()]);
    })
    .await;
}

/// A hit deep in a busy inbox is still newer than one on top of a quiet inbox.
#[tokio::test]
async fn the_newest_hits_come_first_even_when_one_inbox_is_much_busier() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let busy = acme.mailbox("help@acme.example", "Support").await;
        let quiet = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut ids = Vec::new();
        for (inbox, subject) in [(quiet, "in the quiet inbox"), (busy, "snoozed"), (busy, "deep")] {
            ids.push(acme.mail(inbox, "anna@customer.example", subject, "parcel").await);
            world.wait(TimeDelta::hours(1));
        }
        acme.set(ids[1], "snoozed_until = '2031-01-06T11:30:00Z'").await;
        acme.many(busy, 300, "letter").await;
        ids.reverse();
        let ids = super::written(&ids);
        for limit in 1..=3 {
            for filters in ["", "&assigned=unassigned"] {
                let query = format!("q=parcel&limit={limit}{filters}");
                assert_eq!(key.listed(&query).await, ids[..limit], "{query}");
            }
        }
        assert_eq!(key.listed(&format!("q=parcel&limit=1&mailbox={busy}")).await, ids[..1]);
    })
    .await;
}

#[tokio::test]
async fn words_combine_with_every_other_filter() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mine = format!("assignee_type = 'agent', assignee_id = {}", key.agent.0);
        let mut ids = Vec::new();
        for (inbox, text, assignment) in [
            (support, "parcel", "status = 'open'"),
            (sales, "parcel", "status = 'open'"),
            (support, "parcel", &mine),
            (support, "parcel", "status = 'waiting', reference = 'inv-1'"),
            (support, "parcel", "snoozed_until = '2031-02-01T00:00:00Z'"),
            (support, "letter", "reference = 'inv-1'"),
        ] {
            let id = acme.mail(inbox, "anna@customer.example", "Mail", text).await;
            acme.set(id, assignment).await;
            ids.push(id);
            world.wait(TimeDelta::seconds(1));
        }
        for (filters, places) in [
            (String::new(), &[2, 1, 0][..]),
            (format!("&mailbox={sales}"), &[1]),
            (format!("&mailbox={support}&assigned=unassigned"), &[0]),
            ("&assigned=me".into(), &[2]),
            ("&view=waiting".into(), &[3]),
            ("&view=snoozed".into(), &[4]),
            ("&view=all&reference=inv-1".into(), &[3]),
            ("&reference=inv-1".into(), &[]),
            ("&limit=2".into(), &[2, 1]),
        ] {
            let wanted: Vec<String> = places.iter().map(|place| ids[*place].to_string()).collect();
            assert_eq!(key.listed(&format!("q=parcel{filters}")).await, wanted, "{filters}");
        }
    })
    .await;
}

/// A row holds only so many words; those of a long conversation stand in several.
#[tokio::test]
async fn every_word_of_a_long_conversation_is_found_together_with_any_other() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "firstword").await;
        let sent = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours@acme.example") };
        acme.outbound(id, sent).await;
        let words = |mail: usize| (0..1_800).map(|word| format!("w{mail}x{word}\n")).collect::<String>();
        for mail in 0..3 {
            let header = format!(
                "Message-ID: <{mail}@c>\nFrom: anna@customer.example\nReferences: <ours@acme.example>"
            );
            acme.receives(support, &format!("{header}\n\n{}", words(mail))).await;
            world.work().await;
        }
        let queries = ["firstword w0x0 w1x900 w2x1799", "w0x1799 w2x0", "parcel w1x5 anna"];
        for query in queries {
            finds(&key, query, &[id]).await;
        }
        finds(&key, "w0x0 w3x0", &[]).await;
        world.wait(TimeDelta::hours(1));
        acme.many(support, 300, "letter").await;
        for query in queries {
            finds(&key, query, &[id]).await;
        }
        finds(&key, "w0x0 letter", &[]).await;
    })
    .await;
}

#[tokio::test]
async fn words_of_a_message_that_was_stopped_are_gone_and_come_back_when_it_is_sent() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read,send", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        let message = key.sends(id, "stoppedword").await;
        let waiting = "view=waiting&q=stoppedword";
        let anywhere = async || [key.listed(waiting).await, key.listed("q=stoppedword").await].concat();
        assert_eq!(anywhere().await, [id.to_string()]);
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let conversation = rookery_core::conversations::lock::lock_any(&mut tx, id).await.unwrap();
        let stopped = rookery_core::conversations::messages::outbound::stop(
            &mut tx,
            &conversation,
            message.parse().unwrap(),
            "stoppedword",
        );
        assert!(stopped.await.unwrap());
        tx.commit().await.unwrap();
        assert!(anywhere().await.is_empty());
        assert_eq!(key.listed("q=hello").await, [id.to_string()], "the others stay");
    })
    .await;
}

/// What the version before this one wrote: all words in one row, without the time of the newest mail.
#[tokio::test]
async fn words_that_an_earlier_version_indexed_or_noted_are_found() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "firstword").await;
        world.work().await;
        let as_before = "update conversation_words set last_message_at = null, words = words || array(
                             select -n::bigint from generate_series(1, 5000) n)";
        sqlx::raw_sql(as_before).execute(&world.app.pool).await.unwrap();
        finds(&key, "firstword", &[id]).await;
        let noted = acme.mail(support, "anna@customer.example", "Parcel", "notedword").await;
        let note = "with noted as (delete from unindexed_messages returning *)
                    insert into unindexed_conversations (workspace_id, conversation_id, since)
                    select workspace_id, conversation_id, since from noted";
        sqlx::raw_sql(note).execute(&world.app.pool).await.unwrap();
        finds(&key, "notedword", &[noted]).await;
        world.wait(TimeDelta::hours(1));
        acme.many(support, 300, "letter").await;
        finds(&key, "firstword", &[id]).await;
        finds(&key, "notedword", &[noted]).await;
    })
    .await;
}
