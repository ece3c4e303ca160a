//! "Stop every agent now" on two nodes under load: when it has answered, nothing of any agent is committed and nothing
//! leaves. And what stopping waits for, taken apart: a call that has begun, and a message in a node's hands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::join_all;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::error::Error;
use rookery_base::random::Random;
use rookery_core::workspace::people;
use rookery_product::replies::agents::stop;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::sync::Semaphore;

use rookery_world::site::{SECRET_KEY, Site};
use rookery_world::{Mode, Reply, story};

/// A fifth is done when the word comes.
const CALLS: usize = 1_250;
/// Those that are in flight at once, more than a workspace has places for.
const AT_ONCE: usize = 100;
const KEYS: usize = 10;
const CONVERSATIONS: usize = 40;

/// Everything that an agent can change, counted, and the ledger of what left.
async fn state(pool: &PgPool) -> Vec<i64> {
    sqlx::query_scalar(
        "select n from (
             select 1 as place, count(*) as n from messages
             union all select 2, count(*) from messages where status = 'sent'
             union all select 3, count(*) from messages where status = 'sending'
             union all select 4, count(*) from sandbox_mail
             union all select 5, count(*) from notes
             union all select 6, count(*) from timeline_events
             union all select 7, count(*) from conversation_tags
             union all select 8, count(*) from conversations
             union all select 9, count(*) from events
             union all select 10, sum(last_item)::bigint from conversations
             union all select 11, count(*) from app_mail) all_of_it
         order by place",
    )
    .fetch_all(pool)
    .await
    .unwrap()
}

/// One call of many kinds, over REST or MCP.
fn call(number: usize, conversation: &str) -> (String, Value) {
    let tool = |name: &str, mut arguments: Value| {
        arguments["id"] = json!(conversation);
        let params = json!({ "name": name, "arguments": arguments });
        ("/mcp".to_owned(), json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
    };
    let rest = |path: &str, body: Value| (format!("/api/v1/conversations/{conversation}/{path}"), body);
    match number % 9 {
        0 | 1 => rest("replies", json!({ "body": format!("Sent {number}"), "send": true })),
        2 => tool("reply", json!({ "body": format!("Sent by a tool {number}"), "send": true })),
        3 => rest("replies", json!({ "body": format!("Draft {number}") })),
        4 => tool("add_note", json!({ "body": format!("Note {number}") })),
        5 => rest("tags", json!({ "add": [format!("tag {}", number % 50)] })),
        6 => rest("status", json!({ "status": if number.is_multiple_of(2) { "open" } else { "closed" } })),
        7 => {
            let mail = json!({ "from": format!("c{number}@customer.test"), "text": "Hello" });
            ("/api/v1/sandbox/inbound".to_owned(), mail)
        }
        _ => {
            let sent = json!({ "messageId": format!("{number}@app.example"), "reference": format!("r{number}"),
                               "to": ["a@b.example"], "subject": "s" });
            ("/api/v1/app-mail".to_owned(), sent)
        }
    }
}

#[derive(PartialEq)]
enum Answer {
    Done,
    Stopped,
    /// The workspace asks too much at once.
    TooMuch,
}

fn answer(path: &str, reply: &Reply) -> Answer {
    if path == "/mcp" && reply.status == 200 {
        let text = reply.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        return if reply.json()["result"]["isError"] != true {
            Answer::Done
        } else if text.starts_with("429 Too many") {
            Answer::TooMuch
        } else {
            assert!(text.starts_with("403 Every agent"), "{text}");
            Answer::Stopped
        };
    }
    match reply.status {
        200 | 201 => Answer::Done,
        429 => Answer::TooMuch,
        status => {
            assert!(
                status == 403 && reply.error().starts_with("Every agent"),
                "{path}: {status} {}",
                reply.text
            );
            Answer::Stopped
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_answer_nothing_of_any_agent_is_committed_or_leaves_on_two_nodes() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let settings = [
        ("ROOKERY_RATE_LIMIT_REQUESTS", "100000"),
        ("ROOKERY_SANDBOX_INBOUND_LIMIT", "100000"),
        // What is sent leaves within a second, so that there is always something in a node's hands.
        ("ROOKERY_SANDBOX_UNDO_WINDOW_SECONDS", "1"),
    ];
    let nodes = [site.serve("one", &settings).await, site.serve("two", &settings).await];
    let keys: Vec<String> =
        (0..KEYS).map(|number| site.key(&workspace, &owner, &format!("bot {number}"), "test").1).collect();
    let mut conversations = Vec::new();
    for number in 0..CONVERSATIONS {
        let mail = json!({ "from": format!("ada{number}@customer.test"), "text": "Hello" });
        let request = site.http.post(format!("{}/api/v1/sandbox/inbound", nodes[0].address));
        let reply = Reply::of(request.bearer_auth(&keys[number % KEYS]).json(&mail)).await;
        conversations.push(reply.json()["conversationId"].as_str().expect("a conversation").to_owned());
    }
    // The third node is the one that stops them.
    let blobs = format!("file://{}", site.folder.join("blobs").display());
    let given = [
        ("ROOKERY_DATABASE_URL", site.database.url()),
        ("ROOKERY_SECRET_KEY", SECRET_KEY),
        ("ROOKERY_BLOBS", blobs.as_str()),
    ];
    let given = given.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let app = App::new(Config::load(None, given).unwrap(), Clock::system(), Random::seeded(3)).unwrap();
    app.follow_the_databases_clock().await.unwrap();
    let (workspace, owner) = (workspace.parse().unwrap(), owner.parse().unwrap());
    let person = people::teammate(&mut app.connection().await.unwrap(), workspace, owner).await.unwrap();

    // Some are sent before, so that nodes are handing over when the word comes.
    let first = (0..200).map(|number| {
        let (path, body) = call(9 * number, &conversations[number % CONVERSATIONS]);
        let request = site.http.post(format!("{}{path}", nodes[number % 2].address));
        Reply::of(request.bearer_auth(&keys[number % KEYS]).json(&body))
    });
    assert!(join_all(first).await.iter().all(|reply| reply.status == 201));
    while state(&app.pool).await[3] == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (answered, turns) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(AT_ONCE)));
    let calls = (0..CALLS).map(|number| {
        let (path, body) = call(number, &conversations[number % CONVERSATIONS]);
        let request = site.http.post(format!("{}{path}", nodes[number % 2].address));
        let request = request.bearer_auth(&keys[number % KEYS]).json(&body);
        let (answered, turns) = (answered.clone(), turns.clone());
        tokio::spawn(async move {
            loop {
                let turn = turns.acquire().await.expect("nobody closes it");
                let reply = Reply::of(request.try_clone().expect("a body of bytes")).await;
                let answer = answer(&path, &reply);
                if answer != Answer::TooMuch {
                    answered.fetch_add(1, Ordering::Relaxed);
                    return answer == Answer::Done;
                }
                drop(turn);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    });
    let calls: Vec<_> = calls.collect();
    while answered.load(Ordering::Relaxed) < CALLS / 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let left = CALLS - answered.load(Ordering::Relaxed);
    let pressed = Instant::now();
    let stopped = stop::stop(&app, workspace, &person).await.unwrap();
    let took = pressed.elapsed();
    let at_the_answer = state(&app.pool).await;

    let done = join_all(calls).await.into_iter().filter(|done| *done.as_ref().expect("a call")).count();
    // Longer than an undo window and than every loop of both nodes.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let later = state(&app.pool).await;
    println!(
        "stopped in {took:?} with {left} calls to be answered: {done} done before, {} held, ledger {}",
        stopped.held, at_the_answer[3]
    );
    assert_eq!(stopped.on_their_way, 0);
    assert_eq!(later, at_the_answer, "something of an agent came after the answer");
    assert_eq!(at_the_answer[2], 0, "nothing is in a node's hands");
    assert!(at_the_answer[3] > 0, "something had left before");
    assert!((CALLS / 5..CALLS).contains(&done), "{done} of {CALLS} were done: it was stopped in their midst");
    assert!(took < Duration::from_secs(15), "{took:?}");
    for node in &nodes {
        for key in &keys {
            assert_eq!(site.get(node, "/api/v1/me", key).await.status, 403);
        }
    }
    let started = stop::start(&app, workspace, &person, stop::HeldMessages::BecomeDrafts).await.unwrap();
    // What a node had just claimed when the word came, it held by itself.
    assert!((stopped.held..stopped.held + 50).contains(&started.drafts), "{started:?} {stopped:?}");
    for node in &nodes {
        assert_eq!(site.get(node, "/api/v1/me", &keys[0]).await.status, 200);
    }
}

/// Stopping waits for a call that has begun, and its commit counts as before the answer; who begins later is refused at
/// once and does not wait behind the one who stops.
#[tokio::test]
async fn stopping_waits_for_what_has_begun_and_nobody_waits_for_stopping() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner =
            people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        let begun = world.app.begin_as_agent(acme.id).await.unwrap();
        let stopping = async {
            stop::stop(&world.app, acme.id, &owner).await.unwrap();
            Instant::now()
        };
        let ending = async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            let asked = Instant::now();
            let refused = world.app.begin_as_agent(acme.id).await;
            assert!(matches!(refused, Err(Error::Forbidden(_))), "the word stands while it waits");
            assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
            let people_go_on = world.app.begin(acme.id).await.unwrap();
            people_go_on.commit().await.unwrap();
            begun.commit().await.unwrap();
            Instant::now()
        };
        let (answered, ended) = futures::join!(stopping, ending);
        assert!(answered >= ended, "it answered before the call had ended");
    })
    .await;
}

/// Somebody starts the agents while the one who stopped them still waits: nothing is held after that.
#[tokio::test]
async fn who_starts_agents_while_stopping_is_under_way_leaves_nothing_held() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mail = acme.mail(help, "ada@x.example", "Hello", "Hello").await;
        let bot = acme.key("bot", "send", Mode::Live).await;
        bot.sends(mail, "Sent by itself").await;
        let owner =
            people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        let begun = world.app.begin_as_agent(acme.id).await.unwrap();
        let stopping = stop::stop(&world.app, acme.id, &owner);
        let starting = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let started = stop::start(&world.app, acme.id, &owner, stop::HeldMessages::BecomeDrafts).await;
            assert!(!started.unwrap().already, "the word stood");
            begun.commit().await.unwrap();
        };
        let (stopped, ()) = futures::join!(stopping, starting);
        assert_eq!(stopped.unwrap().held, 0);
        world.wait(TimeDelta::hours(1));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1, "it leaves as it was to leave");
    })
    .await;
}

/// The word alone keeps a message here that a node takes up to hand over.
#[tokio::test]
async fn a_message_that_a_node_holds_is_not_handed_over_once_agents_are_stopped() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mail = acme.mail(help, "ada@x.example", "Hello", "Hello").await;
        let bot = acme.key("bot", "send", Mode::Live).await;
        bot.sends(mail, "Sent by itself").await;
        world.wait(TimeDelta::hours(1));
        let owner =
            people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        world.sql("update workspaces set agents_stopped_at = now(), agents_stopped_by = 'Olga'").await;
        world.work().await;
        assert!(world.outbox.letters().is_empty());
        let held: Vec<(String, i32)> =
            sqlx::query_as("select status, tries::int from messages where author_type = 'agent'")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(held, [("scheduled".to_owned(), 0)], "it is held, and no try was counted");
        stop::start(&world.app, acme.id, &owner, stop::HeldMessages::Leave).await.unwrap();
        world.wait(TimeDelta::hours(1));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
        let left: i64 = sqlx::query_scalar("select count(*) from agent_handovers")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(left, 0, "what was handed over is not noted any more");
    })
    .await;
}
