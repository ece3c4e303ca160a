//! `GET /events`: what webhooks are told, for whoever asks, in one order. It is the same set, whatever is killed and however
//! long a transaction takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_core::events::event::{Event, ScoutHeld};
use rookery_core::events::record::{EventContext, record};
use rookery_core::workspace::access::SANDBOX;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::killing::{LOCAL, app, change};
use rookery_world::UNHURRIED;
use rookery_world::site::Site;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Key, Mode, Reply, World, story, story_with};

/// A page by REST and by MCP: the events and `next`.
async fn page(key: &Key<'_>, after: &str, types: &str, limit: usize) -> (Vec<Value>, String) {
    let path = format!("/events?after={after}&types={types}&limit={limit}");
    let mut arguments = json!({ "after": after, "limit": limit });
    if !types.is_empty() {
        arguments["types"] = json!(types);
    }
    let (status, page) = key.read(&path, "list_events", arguments).await;
    assert_eq!(status, 200, "{page}");
    (page["events"].as_array().unwrap().clone(), page["next"].as_str().unwrap().to_owned())
}

/// Everything after a number, page by page.
async fn walk(key: &Key<'_>, after: &str, types: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), after.to_owned());
    loop {
        let (events, next) = page(key, &after, types, limit).await;
        if events.is_empty() {
            return all;
        }
        assert!(events.len() <= limit);
        all.extend(events);
        after = next;
    }
}

async fn recorded(world: &World, audiences: &[i64]) -> Vec<Value> {
    let bodies: Vec<String> =
        sqlx::query_scalar("select body from events where audience = any($1) order by id")
            .bind(audiences)
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
    bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect()
}

/// Where to begin would else tell to the millisecond that a colleague got a mail, and the sandbox what happens for real.
#[tokio::test]
async fn where_to_begin_does_not_move_with_what_a_key_cannot_see() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let anna = acme.person("Anna Berg", Role::Admin).await;
        let team = acme.mailbox("help@acme.example", "Help").await;
        let hers = acme.private_mailbox("anna@acme.example", "Anna", anna).await;
        let keys = [
            acme.key("live", "read", Mode::Live).await,
            acme.key_of(anna, "annas", "read", Mode::Live).await,
            acme.key("test", "read", Mode::Test).await,
        ];
        let heads = async || {
            let mut heads = Vec::new();
            for key in &keys {
                heads.push(key.get("/events").await.json()["next"].as_str().unwrap().to_owned());
            }
            heads
        };
        acme.mail(team, "a@customer.example", "Hi", "Hello").await;
        acme.happens_in_sandbox().await;
        world.work().await;
        for (what, moved) in [
            ("private", [false, true, false]),
            ("sandbox", [false, false, true]),
            ("team", [true, true, false]),
        ] {
            let before = heads().await;
            world.wait(TimeDelta::seconds(5));
            match what {
                "private" => drop(acme.mail(hers, "b@customer.example", "Hi", "Hush").await),
                "team" => drop(acme.mail(team, "c@customer.example", "Hi", "Hello").await),
                _ => drop(acme.happens_in_sandbox().await),
            }
            world.work().await;
            let after = heads().await;
            for (at, key) in keys.iter().enumerate() {
                assert_eq!(before[at] != after[at], moved[at], "{what} {at}: {before:?} {after:?}");
                // Whoever began there hears of what came since, and of nothing else.
                assert_eq!(!walk(key, &before[at], "", 100).await.is_empty(), moved[at], "{what} {at}");
                assert!(walk(key, &after[at], "", 100).await.is_empty(), "{what} {at}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_reads_the_events_of_what_it_can_see_in_order_and_no_others() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let anna = acme.person("Anna Berg", Role::Admin).await;
        let team = acme.mailbox("help@acme.example", "Help").await;
        let hers = acme.private_mailbox("anna@acme.example", "Anna", anna).await;
        let owners = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let (live, test) =
            (acme.key("live", "write", Mode::Live).await, acme.key("test", "write", Mode::Test).await);
        let annas = acme.key_of(anna, "annas", "read", Mode::Live).await;
        let began = live.get("/events").await.json();
        assert_eq!(began["events"], json!([]), "from now on");
        for number in 0..3 {
            for mailbox in [team, hers, owners] {
                world.wait(TimeDelta::seconds(1));
                let id = acme.mail(mailbox, &format!("a{number}@customer.example"), "Hi", "Hello").await;
                if mailbox == team {
                    live.post(&format!("/conversations/{id}/status"), json!({ "status": "closed" })).await;
                }
            }
            acme.happens_in_sandbox().await;
        }
        assert_eq!(
            live.get("/events?after=0").await.json()["events"],
            json!([]),
            "not before they are fanned out"
        );
        world.work().await;
        let next = began["next"].as_str().unwrap();
        for (key, audiences) in
            [(&live, vec![0, acme.owner.0]), (&annas, vec![0, anna.0]), (&test, vec![SANDBOX])]
        {
            let wanted = recorded(world, &audiences).await;
            assert!(wanted.len() >= 3, "{wanted:?}");
            for (after, limit) in [(next, 100), ("0", 100), ("0", 2), ("0", 1)] {
                assert_eq!(walk(key, after, "", limit).await, wanted, "{audiences:?} {after} {limit}");
            }
            for types in ["turn.changed", "conversation.assigned", "turn.changed,message.sent"] {
                let of = |event: &&Value| types.split(',').any(|name| event["type"] == name);
                let some: Vec<Value> = wanted.iter().filter(of).cloned().collect();
                assert_eq!(walk(key, "0", types, 2).await, some, "{types}");
            }
        }
        // At the end the place stays, and nothing is told again.
        let (events, end) = page(&live, "0", "", 100).await;
        assert!(!events.is_empty());
        assert_eq!(page(&live, &end, "", 100).await, (Vec::new(), end.clone()));
        let newest: i64 = live.get("/events").await.json()["next"].as_str().unwrap().parse().unwrap();
        assert!(newest >= end.parse().unwrap());
        for (query, problem) in [
            ("after=abc", "after: must be `next` of an earlier answer, or 0"),
            ("after=9999999999999999999", "after: must be `next` of an earlier answer, or 0"),
            ("after=-1", "after: must be `next` of an earlier answer, or 0"),
            ("limit=0", "limit: must be a whole number from 1 to 100"),
            ("wait=16", "wait: must be a whole number from 0 to 15"),
        ] {
            let refused = live.get(&format!("/events?{query}")).await;
            assert_eq!((refused.status, refused.error().as_str()), (400, problem), "{query}");
        }
        let refused = live.get("/events?types=turn.changed,secret").await;
        assert_eq!(refused.status, 400);
        assert!(refused.error().starts_with("types: must be some of ask.completed"), "{}", refused.error());
        let nobody = acme.key("writer", "write", Mode::Live).await;
        assert_eq!(nobody.get("/events").await.status, 200, "every key reads");
    })
    .await;
}

/// An event of the sandbox that is not committed yet.
async fn open(world: &World, workspace: WorkspaceId) -> (rookery_base::store::db::Tx<'static>, String) {
    let mut tx = world.app.begin(workspace).await.unwrap();
    let held = Event::ScoutHeld(ScoutHeld { conversation_id: ConversationId(1) });
    let place = EventContext { audience: SANDBOX, livemode: false, conversation: None, inbox: "Sandbox" };
    let id = record(&mut tx, place, &held).await.unwrap();
    (tx, id.to_string())
}

#[tokio::test]
async fn what_commits_late_comes_after_what_was_read_and_is_not_missed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "read", Mode::Test).await;
        let (late, late_id) = open(world, acme.id).await;
        world.wait(TimeDelta::minutes(1));
        let (early, early_id) = open(world, acme.id).await;
        early.commit().await.unwrap();
        world.work().await;
        let (events, next) = page(&key, "0", "", 100).await;
        assert_eq!(events.iter().map(|event| &event["id"]).collect::<Vec<_>>(), [&json!(early_id)]);
        late.commit().await.unwrap();
        world.work().await;
        let (events, next) = page(&key, &next, "", 100).await;
        assert_eq!(events.iter().map(|event| &event["id"]).collect::<Vec<_>>(), [&json!(late_id)]);
        // Numbers do not count what another cannot see.
        let first: i64 = next.parse().unwrap();
        for _ in 0..20 {
            open(world, acme.id).await.0.commit().await.unwrap();
        }
        world.work().await;
        let last: i64 = page(&key, &next, "", 100).await.1.parse().unwrap();
        assert!(last - first > 100, "{first} {last}");
        let rows = world.scalar("select count(*) from event_feed").await;
        assert_eq!(rows, world.scalar("select count(*) from events").await, "each has one number");
    })
    .await;
}

#[tokio::test]
async fn a_request_that_waits_answers_when_something_was_fanned_out() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "read", Mode::Test).await;
        let next = key.get("/events").await.json()["next"].as_str().unwrap().to_owned();
        let started = Instant::now();
        let happens = async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            acme.happens_in_sandbox().await;
            world.work().await;
        };
        let path = format!("/events?after={next}&wait=15");
        let (reply, ()) = tokio::join!(key.get(&path), happens);
        assert_eq!(reply.json()["events"].as_array().unwrap().len(), 1, "{}", reply.text);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    })
    .await;
}

/// proves: WH-29
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_is_the_webhooks_set_under_writers_kills_and_a_long_transaction() {
    followed(16, Duration::from_secs(8)).await;
}

/// `just follow-events`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: just follow-events"]
async fn the_feed_is_the_webhooks_set_under_64_writers_kills_and_a_transaction_of_a_minute() {
    followed(64, Duration::from_secs(65)).await;
}

async fn followed(writers: usize, time: Duration) {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "follower", "test");
    let receiver = Receiver::start().await;
    let webhook = [
        "--workspace",
        &workspace,
        "--maker",
        &owner,
        "--url",
        &receiver.url,
        "--mode",
        "test",
        "--scope",
        "team",
    ];
    let made =
        site.command(&[&["admin", "create-webhook"], &webhook[..]].concat()).env(LOCAL.0, LOCAL.1).status();
    assert!(made.unwrap().success());
    let settings = [
        LOCAL,
        ("ROOKERY_LEASE_SECONDS", "2"),
        ("ROOKERY_WEBHOOK_ANSWER_SECONDS", "1"),
        ("ROOKERY_RATE_LIMIT_REQUESTS", "1000000"),
    ];
    let steady = site.serve("steady", &settings).await;
    let mut killed = site.serve("killed", &settings).await;
    let (app, workspace): (_, WorkspaceId) = (Arc::new(app(&site)), workspace.parse().unwrap());
    let stop = Arc::new(AtomicBool::new(false));

    // It began before all others, and ends after them.
    let (long_id, _, mut long) = change(&app, workspace).await;
    let committed = Arc::new(Mutex::new(BTreeSet::from([long_id])));
    let writing: Vec<_> = (0..writers)
        .map(|writer| {
            let (app, stop, committed) = (app.clone(), stop.clone(), committed.clone());
            tokio::spawn(async move {
                let mut number = writer;
                while !stop.load(Ordering::SeqCst) {
                    let (id, _, tx) = change(&app, workspace).await;
                    tokio::time::sleep(Duration::from_millis((number * 37 % 60) as u64)).await;
                    // Every fourth is taken back.
                    if number % 4 != 3 {
                        tx.commit().await.unwrap();
                        committed.lock().await.insert(id);
                    }
                    number += 1;
                    tokio::time::sleep(Duration::from_millis(40)).await;
                }
            })
        })
        .collect();
    let done = Arc::new(AtomicBool::new(false));
    let following = tokio::spawn({
        let (http, address, key, done) =
            (site.http.clone(), steady.address.clone(), key.clone(), done.clone());
        async move {
            let (mut after, mut met) = ("0".to_owned(), Vec::new());
            loop {
                let last = done.load(Ordering::SeqCst);
                let asked =
                    http.get(format!("{address}/api/v1/events?after={after}&wait=1")).bearer_auth(&key);
                let reply = Reply::of(asked).await;
                assert_eq!(reply.status, 200, "{}", reply.text);
                let page = reply.json();
                let next = page["next"].as_str().unwrap().to_owned();
                assert!(next.parse::<i64>().unwrap() >= after.parse().unwrap(), "{next} after {after}");
                after = next;
                let events = page["events"].as_array().unwrap();
                met.extend(events.iter().map(|event| event["id"].as_str().unwrap().to_owned()));
                if last && events.is_empty() {
                    return met;
                }
            }
        }
    });
    let (started, mut kills) = (Instant::now(), 0);
    while started.elapsed() < time {
        tokio::time::sleep(Duration::from_millis(700 + kills * 131 % 500)).await;
        killed.kill();
        kills += 1;
        killed = site.serve("killed", &settings).await;
        // A session that does nothing for long is ended.
        sqlx::query("select 1").execute(&mut *long).await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    for writer in writing {
        writer.await.unwrap();
    }
    let open = started.elapsed();
    long.commit().await.unwrap();
    let waits = "select (select count(*) from unfanned_events) + (select count(*) from deliveries)";
    let ending = Instant::now();
    loop {
        let waiting: i64 = sqlx::query_scalar(waits).fetch_one(&app.pool).await.unwrap();
        if waiting == 0 {
            break;
        }
        assert!(ending.elapsed() < Duration::from_secs(90), "{waiting} wait: {}", steady.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    done.store(true, Ordering::SeqCst);
    let met = following.await.unwrap();
    let committed = committed.lock().await;
    let mut times: BTreeMap<&String, usize> = BTreeMap::new();
    met.iter().for_each(|id| *times.entry(id).or_default() += 1);
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "read more than once: {twice:?}");
    let read: BTreeSet<String> = met.into_iter().collect();
    let delivered: BTreeSet<String> =
        receiver.got().iter().map(|got| got.header("webhook-id").to_owned()).collect();
    println!("{} events of {writers} writers, {kills} kills, a transaction of {open:.0?}", read.len());
    assert_eq!(read, *committed, "the feed is what was committed");
    assert_eq!(delivered, *committed, "and so is what the webhook got");
}
