//! `Idempotency-Key`: what is asked for twice is done once, by REST and by MCP, whatever happens in between.

mod dry_runs;
mod killing;

use std::time::Duration;

use rookery_api::operation::Method;
use rookery_api::registry::OPERATIONS;
use rookery_base::store::partitions;
use rookery_core::workspace::access::By;
use rookery_webhooks::redeliver;
use serde_json::{Value, json};
use sqlx::PgConnection;

use rookery_world::UNHURRIED;
use rookery_world::furnished::{Furnished, furnished};
use rookery_world::{Key, Mode, Reply, ToolAnswer, World, story, story_with};

const USED: &str = "This Idempotency-Key was used for another request. Take a new key for each request.";

/// One request that is made again and again.
struct Asked<'a> {
    operation: &'static str,
    has_tool: bool,
    key: &'a Key<'a>,
    path: String,
    id: Option<String>,
    body: Value,
}

impl Asked<'_> {
    fn arguments(&self) -> Value {
        let mut arguments = self.body.clone();
        if let Some(id) = &self.id {
            arguments["id"] = json!(id);
        }
        arguments
    }
}

/// A sound request to every operation that is a POST.
async fn every_post<'a>(home: &'a Furnished<'a>) -> Vec<Asked<'a>> {
    let acme = &home.workspace;
    let call = acme.bookable("Second call").await;
    let asks = json!({ "body": "x", "send": true, "documents": [{ "label": "x" }] });
    let asked = home.test.replies(&home.sandbox, asks).await;
    acme.world.wait(chrono::TimeDelta::minutes(1));
    acme.world.work().await;
    let request: i64 = sqlx::query_scalar("select id from document_requests order by id desc limit 1")
        .fetch_one(&acme.world.app.pool)
        .await
        .expect(&asked);
    let draft = home.test.drafts(&home.sandbox, "Perhaps.").await;
    let hook = acme.webhook("https://1.1.1.1/hooks", Mode::Live).await.webhook;
    let event = redeliver::send_test(&acme.world.app, acme.id, &By::System, hook).await.unwrap();
    let body = |operation: &str| match operation {
        "add_note" => json!({ "body": "Look." }),
        "set_status" => json!({ "status": "closed" }),
        "tag_conversation" => json!({ "add": ["again"] }),
        "assign_conversation" => json!({ "to": "none" }),
        "change_conversations" => json!({ "ids": [home.full.to_string(), "cnv_1"], "add": ["and again"] }),
        "reply" => json!({ "body": "Hello.", "send": true, "attachments": [
            { "filename": "a.txt", "contentType": "text/plain", "content": "YQ==" }] }),
        "request_documents" => json!({ "documents": [{ "label": "Passport" }] }),
        "offer_times" => json!({ "bookingTypeId": call }),
        "record_sent" => {
            json!({ "messageId": "1@app.example", "reference": "inv-7", "to": ["ada@customer.example"], "subject": "Paid" })
        }
        "simulate_inbound" => json!({ "from": "ada@customer.test", "text": "Hello.", "attachments": [
            { "filename": "a.pdf", "contentType": "application/pdf", "content": "JVBERi0xLjQK" }] }),
        "simulate_decision" => json!({ "decision": "cancel" }),
        "simulate_approval" => json!({ "body": "Certainly." }),
        "advance_sandbox" => json!({ "seconds": 1 }),
        "create_webhook" => json!({ "url": "https://1.1.1.1/hooks", "events": ["client.replied"] }),
        "pause_webhook" | "resume_webhook" | "rotate_webhook" | "test_webhook" => json!({}),
        "redeliver" => json!({ "eventId": event }),
        other => panic!("{other} is a POST, and has no body here"),
    };
    let posts = OPERATIONS.iter().filter(|entry| entry.spec.method == Method::Post);
    posts
        .map(|entry| {
            let id = match entry.spec.name {
                "simulate_decision" => Some(rookery_base::ids::DocumentRequestId(request).to_string()),
                "simulate_approval" => Some(draft.clone()),
                _ if entry.spec.path.starts_with("/webhooks/") => Some(hook.to_string()),
                _ => entry.spec.names_something().then(|| home.full.to_string()),
            };
            let path = entry.spec.path.replace("{id}", id.as_deref().unwrap_or_default());
            let (operation, has_tool, key) = (entry.spec.name, entry.spec.has_tool, home.key_for(entry));
            Asked { operation, has_tool, key, path, id, body: body(operation) }
        })
        .collect()
}

/// proves: ERR-12
#[tokio::test]
async fn every_post_with_a_key_is_done_once_and_its_repeats_get_the_first_answer() {
    story_with(UNHURRIED, async |world| {
        let home = furnished(world).await;
        let all = every_post(&home).await;
        assert!(all.len() >= 10);
        for asked in &all {
            let (what, name) = (asked.operation, format!("{}-1", asked.operation));
            let first = asked.key.post_once(&name, &asked.path, &asked.body).await;
            assert!((200..300).contains(&first.status), "{what}: {}", first.text);
            assert_eq!(first.header("idempotency-replayed"), None, "{what}");
            let (rows, files) = (world.rows().await, world.files());
            let again = asked.key.post_once(&name, &asked.path, &asked.body).await;
            assert_eq!((again.status, &again.text), (first.status, &first.text), "{what}");
            assert_eq!(again.header("idempotency-replayed"), Some("true"), "{what}");
            let mut other = asked.body.clone();
            other["another"] = json!(1);
            let refused = asked.key.post_once(&name, &asked.path, &other).await;
            assert_eq!((refused.status, refused.error().as_str()), (422, USED), "{what}");
            if asked.has_tool {
                let (answer, replayed) = asked.key.tool_once(&*name, what, asked.arguments()).await;
                let ToolAnswer::Done { text, structured } = answer else { panic!("{what}: {answer:?}") };
                assert_eq!((&text, replayed), (&first.text, true), "{what}");
                assert_eq!(structured, first.json(), "{what}");
                let mut other = asked.arguments();
                other["another"] = json!(1);
                let (refused, replayed) = asked.key.tool_once(&*name, what, other).await;
                assert_eq!(refused, ToolAnswer::Failed { status: 422, sentence: USED.into() }, "{what}");
                assert!(!replayed, "{what}");
            }
            assert_eq!(world.rows().await, rows, "{what} was done twice");
            assert_eq!(world.files(), files, "{what} left a file");
        }
        // Without a key, or with another one, it is a request of its own.
        let note = all.iter().find(|asked| asked.operation == "add_note").unwrap();
        let notes = async || world.scalar("select count(*) from notes where body = 'Look.'").await;
        assert_eq!(notes().await, 1);
        note.key.post(&note.path, note.body.clone()).await;
        note.key.post_once("add_note-2", &note.path, &note.body).await;
        let (answer, replayed) = note.key.tool_once("add_note-3", "add_note", note.arguments()).await;
        assert!(matches!(answer, ToolAnswer::Done { .. }) && !replayed);
        assert_eq!(notes().await, 4);
    })
    .await;
}

#[tokio::test]
async fn a_key_has_1_to_255_characters_and_reads_ignore_it() {
    story(async |world| {
        let home = furnished(world).await;
        let (key, id) = (&home.live, home.full.to_string());
        let (path, body) = (format!("/conversations/{id}/notes"), json!({ "body": "x" }));
        let arguments = json!({ "id": id, "body": "x" });
        for (name, problem) in [
            ("", "must not be empty"),
            ("  ", "must not be empty"),
            (&*"x".repeat(256), "must be at most 255 characters"),
        ] {
            let refused = key.post_once(name, &path, &body).await;
            let sentence = format!("Idempotency-Key: {problem}");
            assert_eq!((refused.status, refused.error()), (400, sentence.clone()));
            let (refused, _) = key.tool_once(name, "add_note", arguments.clone()).await;
            assert_eq!(refused, ToolAnswer::Failed { status: 400, sentence });
        }
        let twice = key.ask("POST", &path).header("Idempotency-Key", "a").header("Idempotency-Key", "b");
        assert_eq!(Reply::of(twice.json(&body)).await.error(), "Idempotency-Key: is given more than once");
        let (refused, _) = key.tool_once(7, "add_note", arguments.clone()).await;
        assert_eq!(
            refused,
            ToolAnswer::Failed { status: 400, sentence: "Idempotency-Key: must be a string".into() }
        );
        assert_eq!(world.scalar("select count(*) from notes where body = 'x'").await, 0);
        assert_eq!(key.post_once(&"x".repeat(255), &path, &body).await.status, 201);
        // A key that may not do it is told so, whatever it calls its request.
        let reader = home.workspace.key("reader", "read", Mode::Live).await;
        assert_eq!(reader.post_once("", &path, &body).await.status, 403);
        for name in ["", "same"] {
            let read = key.ask("GET", &format!("/conversations/{id}")).header("Idempotency-Key", name);
            let read = Reply::of(read).await;
            assert_eq!((read.status, read.header("idempotency-replayed")), (200, None));
            let (read, replayed) = key.tool_once(name, "get_conversation", json!({ "id": id })).await;
            assert!(matches!(read, ToolAnswer::Done { .. }) && !replayed);
        }
    })
    .await;
}

#[tokio::test]
async fn an_error_is_not_kept_and_other_agents_and_days_have_keys_of_their_own() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello").await;
        let (key, other) =
            (acme.key("one", "write", Mode::Live).await, acme.key("two", "write", Mode::Live).await);
        let (path, body) = (format!("/conversations/{id}/notes"), json!({ "body": "x" }));
        assert_eq!(key.post_once("k", "/conversations/cnv_1/notes", &body).await.status, 404);
        assert_eq!(key.post_once("k", &path, &json!({ "body": " " })).await.status, 400);
        let notes = async || world.scalar("select count(*) from notes").await;
        assert_eq!((key.post_once("k", &path, &body).await.status, notes().await), (201, 1));
        // It was this key's request, and nobody else's.
        let theirs = other.post_once("k", &path, &body).await;
        assert_eq!((theirs.status, theirs.header("idempotency-replayed"), notes().await), (201, None, 2));
        world.wait(chrono::TimeDelta::hours(24) - chrono::TimeDelta::seconds(1));
        assert_eq!(key.post_once("k", &path, &body).await.header("idempotency-replayed"), Some("true"));
        world.wait(chrono::TimeDelta::seconds(2));
        let later = key.post_once("k", &path, &body).await;
        assert_eq!((later.status, later.header("idempotency-replayed"), notes().await), (201, None, 3));
        assert_eq!(key.post_once("k", &path, &body).await.header("idempotency-replayed"), Some("true"));
        acme.revoke(&key).await;
        assert_eq!(key.post_once("k", &path, &body).await.status, 401);
    })
    .await;
}

/// A twin comes while the first is at work, and finds out what became of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_twin_waits_and_gets_the_answer_or_does_the_work_when_the_first_was_taken_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let path = format!("/conversations/{id}/notes");
        for (name, first_dies) in [("one", false), ("two", true)] {
            let body = json!({ "body": name });
            // Whoever writes to the conversation waits here.
            let mut holder = held(world, id.0).await;
            let (first, twin) = (key.post_once(name, &path, &body), async {
                waiting(world, 1).await;
                key.post_once(name, &path, &body).await
            });
            let release = async {
                waiting(world, 2).await;
                if first_dies {
                    let ended = "select pg_terminate_backend(pid) from pg_stat_activity
                                 where datname = current_database() and wait_event_type = 'Lock'
                                   and wait_event in ('tuple', 'transactionid')";
                    sqlx::query(ended).execute(&mut holder).await.unwrap();
                    waiting(world, 1).await;
                }
                sqlx::query("rollback").execute(&mut holder).await.unwrap();
            };
            let (first, twin, ()) = tokio::join!(first, twin, release);
            let replayed = [&first, &twin].map(|reply| reply.header("idempotency-replayed").is_some());
            if first_dies {
                assert_eq!((first.status, twin.status, replayed), (500, 201, [false, false]));
            } else {
                assert_eq!((first.status, twin.status, replayed), (201, 201, [false, true]));
            }
            let notes: i64 = sqlx::query_scalar("select count(*) from notes where body = $1")
                .bind(name)
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
            assert_eq!(notes, 1, "{name}");
        }
    })
    .await;
}

/// A conversation that somebody else is changing.
async fn held(world: &World, id: i64) -> PgConnection {
    world.holding(&format!("select from conversations where id = {id} for update")).await
}

/// Until so many wait for a lock.
async fn waiting(world: &World, many: i64) {
    for _ in 0..200 {
        let waits = "select count(*) from pg_stat_activity
                     where datname = current_database() and wait_event_type = 'Lock'";
        if world.scalar(waits).await == many {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{many} should be waiting");
}

#[tokio::test]
async fn a_secret_answer_is_sealed_and_an_answer_that_names_the_erased_goes_but_nothing_is_done_twice() {
    story(async |world| {
        let home = furnished(world).await;
        let (key, id) = (&home.live, home.bare.to_string());
        let call = home.workspace.bookable("Second call").await;
        let (links, offer) = (format!("/conversations/{id}/booking-links"), json!({ "bookingTypeId": call }));
        let offered = key.post_once("link", &links, &offer).await;
        assert_eq!(offered.status, 200, "{}", offered.text);
        let url = offered.json()["url"].as_str().unwrap().to_owned();
        let token = url.rsplit_once("/b/").unwrap().1;
        let kept = world.rows().await["public.answered_requests"].concat();
        assert!(!kept.contains(token) && !kept.contains("/b/"), "{kept}");
        let (replies, reply) =
            (format!("/conversations/{id}/replies"), json!({ "body": "Yes.", "send": true }));
        assert_eq!(
            key.post_once("reply", &replies, &reply).await.json()["to"],
            json!(["zoe@customer.example"])
        );
        let (full, note) = (format!("/conversations/{}/replies", home.full), json!({ "body": "Other." }));
        assert_eq!(key.post_once("other", &full, &note).await.status, 201);

        let mut conn = world.app.connection().await.unwrap();
        let workspace = home.workspace.id;
        rookery_base::store::answered::erase(&mut conn, workspace, "zoe@customer.example").await.unwrap();
        let rows = world.rows().await;
        for (name, path, body) in [("link", &links, &offer), ("reply", &replies, &reply)] {
            let again = key.post_once(name, path, body).await;
            let sentence = "This was done before. Its answer is not kept any more.";
            assert_eq!((again.status, again.error().as_str()), (409, sentence), "{name}");
        }
        let kept = key.post_once("other", &full, &note).await;
        assert_eq!((kept.status, kept.header("idempotency-replayed")), (201, Some("true")));
        assert_eq!(world.rows().await, rows);
    })
    .await;
}

/// The rows of the day before yesterday are nobody's any more.
#[tokio::test]
async fn answers_are_kept_by_day_for_two_days() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mut conn = world.app.connection().await.unwrap();
        partitions::maintain(&mut conn).await.unwrap();
        let days = async || -> Vec<String> {
            sqlx::query_scalar(
                "select relname::text from pg_inherits join pg_class on pg_class.oid = inhrelid
                 where inhparent = 'answered_requests'::regclass and relname <> 'answered_requests_default' order by 1",
            )
            .fetch_all(&world.app.pool)
            .await
            .unwrap()
        };
        assert_eq!(days().await.len(), 9, "yesterday, today and a week ahead: {:?}", days().await);
        world
            .sql(&format!(
                "insert into answered_requests (workspace_id, agent_id, key_hash, id, request_hash, status, answer)
                 select {}, 1, decode(repeat('00', 32), 'hex'), lowest_id_on(current_day() - back), decode(repeat('00', 32), 'hex'), 200, '{{}}'
                 from generate_series(0, 3) back",
                acme.id.0
            ))
            .await;
        partitions::maintain(&mut conn).await.unwrap();
        assert_eq!(world.scalar("select count(*) from answered_requests").await, 2);
    })
    .await;
}
