//! Operators in `q` of the conversation list: who mail is from and to, tags, days and files.

use rookery_base::ids::MailboxId;
use rookery_base::search_terms;
use rookery_core::workspace::people::Role;
use rookery_mail::incoming::delivery::Received;
use serde_json::json;

use crate::operations::parameter;
use rookery_world::UNHURRIED;
use rookery_world::{Key, Message, Mode, ToolAnswer, Workspace, World, story, story_with};

const FILL: &str = include_str!("../../../../migrations/0063_contacts_of_what_is_there.sql");

async fn mail(acme: &Workspace<'_>, inbox: MailboxId, head: &str, subject: &str) -> String {
    let raw = format!("{head}\nSubject: {subject}\n\nWe spoke of the deposit.\n");
    stored(acme.receives(inbox, &raw).await)
}

fn stored(received: Received) -> String {
    match received {
        Received::Stored(stored) => stored.conversation.to_string(),
        other => panic!("{other:?}"),
    }
}

/// What a query finds, by REST and MCP.
async fn found(key: &Key<'_>, q: &str) -> Vec<String> {
    key.listed(&parameter("q", q)).await
}

#[tokio::test]
async fn people_tags_and_files_narrow_a_search_and_all_have_to_hold() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,send", Mode::Live).await;
        let ada = mail(&acme, help, "From: Ada Lovelace <ada@customer.example>\nTo: help@acme.example\nCc: carl@mill.example", "One").await;
        let bob = mail(&acme, help, "From: Bob <bob@mill.example>\nTo: help@acme.example", "About ada@customer.example").await;
        let file = "From: Zoé <zoe@customer.example>\nTo: help@acme.example\nSubject: Papers\nMIME-Version: 1.0\n\
            Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nThe deposit.\n\
            --b\nContent-Type: application/pdf; name=a.pdf\nContent-Disposition: attachment; filename=a.pdf\n\n%PDF-1.4\n--b--\n";
        let zoe = stored(acme.receives(help, file).await);
        acme.tag(bob.parse().unwrap(), "VIP").await;
        acme.tag(zoe.parse().unwrap(), "refund due").await;
        acme.tag(zoe.parse().unwrap(), "vip").await;
        for (q, wanted) in [
            ("from:ada@customer.example", vec![&ada]),
            ("FROM:Ada", vec![&ada]),
            ("from:lovelace", vec![&ada]),
            ("from:\"lovelace ada\"", vec![&ada]),
            ("from:customer", vec![&zoe, &ada]),
            ("from:zoe", vec![&zoe]),
            ("ada", vec![&bob, &ada]),
            ("from:ada from:bob", vec![]),
            ("from:carl", vec![]),
            ("to:carl@mill.example", vec![&ada]),
            ("to:mill", vec![&ada]),
            ("to:help@acme.example from:bob", vec![&bob]),
            ("has:attachment", vec![&zoe]),
            ("has:attachment deposit from:zoe", vec![&zoe]),
            ("has:attachment from:bob", vec![]),
            ("tag:vip", vec![&zoe, &bob]),
            ("tag:Vip tag:\"refund  due\"", vec![&zoe]),
            ("tag:vip from:bob deposit", vec![&bob]),
            ("tag:vip lease", vec![]),
            ("tag:unknown", vec![]),
            ("is:open deposit", vec![&zoe, &bob, &ada]),
            ("is:closed deposit", vec![]),
            ("in:help@acme.example tag:vip", vec![&zoe, &bob]),
            ("in:HELP from:ada", vec![&ada]),
            ("in:nowhere", vec![]),
            ("assigned:nobody has:attachment", vec![&zoe]),
            ("assigned:me", vec![]),
            ("assigned:olga deposit", vec![]),
            ("assigned:somebody", vec![]),
            ("after:2020-01-01 deposit", vec![&zoe, &bob, &ada]),
            ("after:2100-01-01 deposit", vec![]),
            ("after:2100-01-01", vec![]),
            ("after:2100-01-01 tag:vip", vec![]),
            ("deposit", vec![&zoe, &bob, &ada]),
            // In quotes, or of a name that is not known, they are words.
            ("\"from:ada\"", vec![]),
            ("re:about", vec![]),
            ("about:ada", vec![&bob]),
        ] {
            let wanted: Vec<String> = wanted.into_iter().cloned().collect();
            assert_eq!(found(&key, q).await, wanted, "{q}");
        }
        key.write(&ada, "assign", "assign_conversation", json!({ "to": "me" }), 200).await;
        assert_eq!(key.post(&format!("/conversations/{zoe}/status"), json!({ "status": "closed" })).await.status, 200);
        world
            .sql(
                "insert into mailbox_aliases (workspace_id, address, mailbox_id, created_at)
                 select workspace_id, 'desk@acme.example', id, now() from mailboxes where name = 'Help'",
            )
            .await;
        for (q, wanted) in [
            ("assigned:me".to_owned(), vec![&ada]),
            ("assigned:bot deposit".to_owned(), vec![&ada]),
            (format!("assigned:agent:{}", key.agent), vec![&ada]),
            ("assigned:nobody".to_owned(), vec![&bob]),
            ("is:closed".to_owned(), vec![&zoe]),
            ("is:closed assigned:nobody tag:vip in:desk@acme.example".to_owned(), vec![&zoe]),
            ("is:open".to_owned(), vec![&bob, &ada]),
        ] {
            let wanted: Vec<String> = wanted.into_iter().cloned().collect();
            assert_eq!(found(&key, &q).await, wanted, "{q}");
        }
        let contradicts = key.get(&format!("/conversations?view=open&{}", parameter("q", "is:closed"))).await;
        let sentence = "view: is not what is: in q says. Leave one of them out";
        assert_eq!((contradicts.status, contradicts.error().as_str()), (400, sentence));
        let closed = format!("view=closed&{}", parameter("q", "is:closed"));
        assert_eq!(key.listed(&closed).await, std::slice::from_ref(&zoe));
        // What we write is from us and to them.
        key.sends(&bob, "Gladly.").await;
        world.wait(chrono::TimeDelta::minutes(15));
        world.work().await;
        let waiting = format!("view=waiting&{}", parameter("q", "to:bob@mill.example"));
        assert_eq!(key.listed(&waiting).await, std::slice::from_ref(&bob));
        assert_eq!(key.listed(&format!("view=closed&{}", parameter("q", "from:ada"))).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_day_cuts_the_list_and_combines_with_pages() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut ids = Vec::new();
        for number in 0..6 {
            ids.push(
                mail(
                    &acme,
                    help,
                    "From: ada@customer.example\nTo: help@acme.example",
                    &format!("Day {number}"),
                )
                .await,
            );
            acme.tag(ids[number].parse().unwrap(), "vip").await;
            world.wait(chrono::TimeDelta::days(1));
        }
        // The day after the third.
        let on = |operator: &str, days_ago| {
            let day = world.now() - chrono::TimeDelta::days(days_ago);
            day.format(&format!("{operator}:%Y-%m-%d")).to_string()
        };
        let day = on("before", 3);
        let between = format!("{} {}", on("after", 5), on("before", 2));
        for (days, wanted) in [(&day, &ids[..3]), (&on("after", 3), &ids[3..]), (&between, &ids[1..4])] {
            let wanted: Vec<String> = wanted.iter().rev().cloned().collect();
            for more in ["", " deposit", " tag:vip", " tag:vip deposit", " from:ada"] {
                let q = parameter("q", &format!("{days}{more}"));
                assert_eq!(key.listed(&q).await, wanted, "{q}");
                let (mut met, mut path) = (Vec::new(), format!("/conversations?limit=2&{q}"));
                loop {
                    let reply = key.get(&path).await;
                    let page = reply.json();
                    met.extend(
                        page.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()),
                    );
                    let Some(link) = reply.header("link") else { break };
                    let (_, next) = link.split_once("/api/v1").unwrap();
                    path = next.split_once('>').unwrap().0.to_owned();
                }
                assert_eq!(met, wanted, "{q}, two at a time");
            }
        }
        let first = key.get(&format!("/conversations?limit=1&{}", parameter("q", &day))).await;
        let cursor = first
            .header("link")
            .unwrap()
            .split_once("cursor=")
            .unwrap()
            .1
            .split_once('>')
            .unwrap()
            .0
            .to_owned();
        let other = key.get(&format!("/conversations?cursor={cursor}&{}", parameter("q", "tag:vip"))).await;
        assert_eq!((other.status, other.error().as_str()), (400, "cursor: belongs to other parameters"));
    })
    .await;
}

#[tokio::test]
async fn a_mistake_in_an_operator_is_refused_with_what_to_write() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "read", Mode::Live).await;
        for (q, sentence) in [
            ("from:", "q: write whom after from: as in from:ada@customer.example"),
            ("deposit before:soon", "q: write a day after before: as in before:2026-01-31"),
            ("has:wings", "q: write has:attachment, there is nothing else that can follow has:"),
        ] {
            let reply = key.get(&format!("/conversations?{}", parameter("q", q))).await;
            assert_eq!((reply.status, reply.error().as_str()), (400, sentence));
            let failed = ToolAnswer::Failed { status: 400, sentence: sentence.into() };
            assert_eq!(key.tool("list_conversations", json!({ "q": q })).await, failed);
        }
    })
    .await;
}

/// A tag or a person that a key cannot see is found by nothing, like one that is not there.
#[tokio::test]
async fn operators_find_nothing_that_a_key_cannot_see() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let anna = acme.person("Anna Berg", Role::Admin).await;
        let private = acme.private_mailbox("anna@acme.example", "Anna", anna).await;
        let hidden = mail(&acme, private, "From: bob@secret.example\nTo: anna@acme.example", "Secret").await;
        acme.tag(hidden.parse().unwrap(), "secret plan").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let annas = acme.key_of(anna, "hers", "read", Mode::Live).await;
        for q in [
            "from:bob@secret.example",
            "to:anna",
            "tag:\"secret plan\"",
            "before:2100-01-01",
            "after:2000-01-01",
            "in:anna",
            "in:anna@acme.example",
            "is:open",
        ] {
            assert_eq!(found(&key, q).await, [""; 0], "{q}");
            assert_eq!(found(&annas, q).await, std::slice::from_ref(&hidden), "{q}");
        }
    })
    .await;
}

/// As the version before left them: words without what operators look up.
async fn without_terms(world: &World, acme: &Workspace<'_>) {
    world.work().await;
    let gone = [
        search_terms::hash_people(acme.id, search_terms::FROM, ["ada@customer.example"]),
        search_terms::hash_people(acme.id, search_terms::TO, ["help@acme.example"]),
    ]
    .concat();
    let gone: Vec<String> = gone.iter().map(i64::to_string).collect();
    let gone = gone.join(",");
    world
        .sql(&format!(
            "update conversation_words set words = array(select unnest(words) except select unnest('{{{gone}}}'::bigint[]))"
        ))
        .await;
}

#[tokio::test]
async fn mail_that_was_indexed_before_gets_its_terms_and_no_search_misses_a_word_meanwhile() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = mail(&acme, help, "From: ada@customer.example\nTo: help@acme.example", "Old").await;
        without_terms(world, &acme).await;
        assert_eq!((found(&key, "from:ada").await.len(), found(&key, "deposit").await), (0, vec![id.clone()]));
        world.sql(FILL).await;
        assert_eq!(world.scalar("select count(*) from unindexed_conversations where tries = -1").await, 1);
        assert_eq!(found(&key, "deposit").await, std::slice::from_ref(&id), "its words stay");
        world.work().await;
        for q in ["from:ada@customer.example", "to:help@acme.example", "deposit from:ada"] {
            assert_eq!(found(&key, q).await, std::slice::from_ref(&id), "{q}");
        }
        let notes = "select (select count(*) from unindexed_conversations) + (select count(*) from unindexed_messages)";
        assert_eq!(world.scalar(notes).await, 0);
    })
    .await;
}

/// After an upgrade there may be millions of both, and no search of mail is the better for either.
#[tokio::test]
async fn a_search_indexes_what_it_would_miss_and_leaves_old_mail_and_contacts_to_the_worker() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let old = mail(&acme, help, "From: ada@customer.example\nTo: help@acme.example", "Old").await;
        without_terms(world, &acme).await;
        world.sql(FILL).await;
        let new = mail(&acme, help, "From: bob@customer.example\nTo: help@acme.example", "New").await;
        world.sql("update contacts set words = null").await;
        // Messages, old terms and contacts, a digit each.
        let waiting = "select (select count(*) from unindexed_messages) * 100
                            + (select count(*) from unindexed_conversations where tries = -1) * 10
                            + (select count(*) from contacts where words is null)";
        assert_eq!(world.scalar(waiting).await, 112);
        assert_eq!(found(&key, "deposit").await, [new, old]);
        assert_eq!(world.scalar(waiting).await, 12);
        assert_eq!(key.get("/contacts?q=ada").await.json()[0]["email"], "ada@customer.example");
        assert_eq!(world.scalar(waiting).await, 10);
        world.work().await;
        assert_eq!(world.scalar(waiting).await, 0);
    })
    .await;
}

/// A batch is some conversations and some messages of each; what is left goes on from there.
#[tokio::test]
async fn long_and_many_conversations_get_all_of_their_terms_and_one_that_fails_stops_no_other() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let long = mail(&acme, help, "From: ada@customer.example\nTo: help@acme.example", "Long").await;
        let ours = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours@acme.example") };
        acme.outbound(long.parse().unwrap(), ours).await;
        for number in 1..=101 {
            let head = format!(
                "Message-ID: <m{number}@customer.example>\nReferences: <ours@acme.example>\nFrom: ada@customer.example\nTo: help@acme.example\n\
                 Cc: c{number}@mill.example"
            );
            assert_eq!(mail(&acme, help, &head, "Re: Long").await, long);
        }
        let mut others = Vec::new();
        for number in 0..21 {
            let head = format!("From: b{number}@customer.example\nTo: help@acme.example");
            others.push(mail(&acme, help, &head, "Short").await);
        }
        world.work().await;
        world
            .sql("update conversation_words set words = '{1}'; delete from conversation_words_segments")
            .await;
        let number = |id: &str| id.parse::<rookery_base::ids::ConversationId>().unwrap().0;
        world
            .sql(&format!(
                "create function refuse() returns trigger language plpgsql as
                     $$ begin raise exception 'no' using errcode = '22000'; end $$;
                 create trigger refuse before insert or update on conversation_words for each row
                     when (new.conversation_id = {}) execute function refuse()",
                number(&others[20])
            ))
            .await;
        world.sql(FILL).await;
        let _ = world.works().await;
        for (q, id) in [
            ("to:c1@mill.example", &long),
            ("to:c101@mill.example", &long),
            ("from:b0@customer.example", &others[0]),
            ("from:b19@customer.example", &others[19]),
        ] {
            assert_eq!(found(&key, q).await, std::slice::from_ref(id), "{q}");
        }
        assert_eq!(found(&key, "from:b20").await, [""; 0]);
        assert_eq!(found(&key, "from:ada deposit").await, [""; 0], "words are not read once more");
        world.sql("drop function refuse cascade").await;
        world.wait(chrono::TimeDelta::hours(3));
        world.work().await;
        assert_eq!(found(&key, "from:b20 deposit").await, [others[20].clone()], "it began anew");
    })
    .await;
}

/// Whoever indexes as the version before did says nothing of terms: they are added after it, and only after it.
#[tokio::test]
async fn mail_that_the_version_before_indexes_while_both_run_gets_its_terms() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let head = "From: ada@customer.example\nTo: help@acme.example";
        let id = mail(&acme, help, head, "During").await;
        without_terms(world, &acme).await;
        let noted = "select count(*) from unindexed_conversations where tries = -1";
        assert_eq!(world.scalar(noted).await, 0, "this version brought the terms");
        let number = id.parse::<rookery_base::ids::ConversationId>().unwrap().0;
        world
            .sql(&format!(
                "insert into unindexed_messages select workspace_id, conversation_id, id, at from messages
                 where conversation_id = {number};
                 delete from unindexed_messages"
            ))
            .await;
        assert_eq!(world.scalar(noted).await, 1);
        assert_eq!(found(&key, "from:ada").await, [""; 0]);
        world.work().await;
        assert_eq!(found(&key, "from:ada deposit").await, [id]);
        assert_eq!(world.scalar(noted).await, 0);
        // A conversation that goes takes its notes with it.
        mail(&acme, help, head, "Gone").await;
        world.sql("delete from messages; delete from conversations").await;
        assert_eq!(world.scalar(noted).await, 0);
    })
    .await;
}
