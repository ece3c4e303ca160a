//! `dryRun`: what is tried leaves nothing, in no table, file or ear, and the real call straight after it is answered alike.

use futures::FutureExt;
use rookery_api::operation::Method;
use rookery_api::registry::OPERATIONS;
use rookery_core::workspace::people;
use rookery_product::replies::agents::stop;
use serde_json::{Map, Value, json};

use super::every_post;
use rookery_world::UNHURRIED;
use rookery_world::furnished::furnished;
use rookery_world::{Key, Mode, Reply, ToolAnswer, story, story_with};

const IN_WORDS: &str = "This was a dry run: nothing was changed or sent, and ids in it name nothing.";
const NO_SECRET: &str = "none, this was a dry run";

fn dry(body: &Value) -> Value {
    let mut body = body.clone();
    body["dryRun"] = json!(true);
    body
}

/// The answer without its values: what a client's types are made for.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), shape(field))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(_) => json!("text"),
        Value::Number(_) => json!("number"),
        other => other.clone(),
    }
}

/// A tool's result as it is on the wire.
async fn result_of(key: &Key<'_>, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    key.mcp(asked).await.json()["result"].clone()
}

#[tokio::test]
async fn a_dry_run_of_every_write_leaves_nothing_and_the_real_call_after_it_is_answered_alike() {
    story_with(UNHURRIED, async |world| {
        let home = furnished(world).await;
        let all = every_post(&home).await;
        world.work().await;
        let listened = home.workspace.id;
        let (mut told, mut changed, mut brought) = (0, 0, 0);
        for asked in &all {
            let (what, name) = (asked.operation, format!("{}-1", asked.operation));
            let entry = OPERATIONS.iter().find(|entry| entry.spec.name == what).unwrap();
            let (rows, files) = (world.rows().await, world.files());
            world.app.feed.take_untold();
            let mut ear = world.app.feed.listen(listened, vec![0, -1, home.workspace.owner.0]);

            let tried = asked.key.post(&asked.path, dry(&asked.body)).await;
            assert!((200..300).contains(&tried.status), "{what}: {}", tried.text);
            assert_eq!(tried.header("dry-run"), Some("true"), "{what}");
            assert!(jsonschema::is_valid(&entry.output, &tried.json()), "{what}: {}", tried.text);
            // A key is neither found nor kept: the second is tried like the first, and the real call is done.
            for _ in 0..2 {
                let keyed = asked.key.post_once(&name, &asked.path, &dry(&asked.body)).await;
                assert_eq!((keyed.status, keyed.header("dry-run")), (tried.status, Some("true")), "{what}");
                assert_eq!(keyed.header("idempotency-replayed"), None, "{what}");
            }
            if asked.has_tool {
                let result = result_of(asked.key, what, dry(&asked.arguments())).await;
                assert_eq!(result["_meta"]["rookery/dryRun"], true, "{what}: {result}");
                assert_eq!(result["content"].as_array().unwrap().last().unwrap()["text"], IN_WORDS, "{what}");
                assert_eq!(shape(&result["structuredContent"]), shape(&tried.json()), "{what}");
            }
            assert_eq!(world.rows().await, rows, "{what} left a row");
            assert_eq!(world.files(), files, "{what} left a file");
            assert!(!world.app.feed.is_untold(), "{what} would have told other nodes");
            assert!(ear.news().now_or_never().is_none(), "{what} was told to open pages");

            let done = asked.key.post_once(&name, &asked.path, &asked.body).await;
            assert_eq!((done.status, shape(&done.json())), (tried.status, shape(&tried.json())), "{what}");
            assert_eq!((done.header("dry-run"), done.header("idempotency-replayed")), (None, None), "{what}");
            // What opens something is not shown, because it would, or because it looks as if it would.
            if entry.spec.secret {
                let shown = |reply: &Reply| ["secret", "url"].map(|name| reply.json()[name].clone());
                assert!(shown(&tried).contains(&json!(NO_SECRET)), "{what}: {}", tried.text);
                assert!(!done.text.contains(NO_SECRET), "{what}: {}", done.text);
            }
            // All of that can fail: the real call leaves and tells what the dry run did not.
            told += u32::from(world.app.feed.is_untold());
            let mut now = world.rows().await;
            now.remove("public.answered_requests");
            changed += u32::from(now.iter().any(|(table, now)| rows[table] != *now));
            brought += u32::from(world.files() != files);
        }
        let posts = OPERATIONS.iter().filter(|entry| entry.spec.method == Method::Post).count();
        assert_eq!(all.len(), posts, "every operation that writes was tried");
        // A link needs no row.
        assert_eq!(changed as usize, posts - 1);
        assert!(told >= 5 && brought == 2, "{told} told, {brought} brought a file");
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_is_refused_like_the_real_thing_and_takes_nothing_of_a_budget() {
    story_with(&[("SANDBOX_INBOUND_LIMIT", "2")], async |world| {
        let home = furnished(world).await;
        let (live, id) = (&home.live, home.full.to_string());
        let replies = &*format!("/conversations/{id}/replies");
        let only_drafts = home.workspace.key("drafter", "draft", Mode::Live).await;
        for (key, path, body, status) in [
            (live, replies, json!({ "body": " " }), 400),
            (&only_drafts, replies, json!({ "body": "x", "send": true }), 403),
            (live, "/conversations/cnv_1/replies", json!({ "body": "x" }), 404),
            (live, replies, json!({ "body": "x", "attachments": [{ "documentId": "doc_1" }] }), 404),
        ] {
            let (real, tried) = (key.post(path, body.clone()).await, key.post(path, dry(&body)).await);
            assert_eq!((real.status, tried.status), (status, status), "{path} {body}");
            assert_eq!((tried.header("dry-run"), &tried.text), (None, &real.text));
        }
        // Two mails were simulated already, within the same minute.
        world.wait(chrono::TimeDelta::minutes(2));
        let mail = json!({ "from": "ada@customer.test", "text": "Hello." });
        for _ in 0..4 {
            assert_eq!(home.test.post("/sandbox/inbound", dry(&mail)).await.status, 201);
        }
        for status in [201, 201, 429] {
            assert_eq!(home.test.post("/sandbox/inbound", mail.clone()).await.status, status);
        }
        assert_eq!(home.test.post("/sandbox/inbound", dry(&mail)).await.status, 429, "as the real one");
        // Who may do nothing may try nothing.
        let acme = &home.workspace;
        let mut conn = world.app.connection().await.unwrap();
        let owner = people::teammate(&mut conn, acme.id, acme.owner).await.unwrap();
        drop(conn);
        stop::stop(&world.app, acme.id, &owner).await.unwrap();
        assert_eq!(live.post(replies, dry(&json!({ "body": "x" }))).await.status, 403);
    })
    .await;
}

#[tokio::test]
async fn what_only_looks_like_a_dry_run_is_refused_and_never_done() {
    story(async |world| {
        let home = furnished(world).await;
        let (key, id) = (&home.live, home.full.to_string());
        let path = format!("/conversations/{id}/notes");
        let rows = world.rows().await;
        for (wrong, problem) in [
            (json!({ "body": "x", "dryRun": "true" }), "dryRun: must be true or false"),
            (json!({ "body": "x", "dryRun": 1 }), "dryRun: must be true or false"),
            (json!({ "body": "x", "dry_run": true }), "dryRun: must be written exactly so"),
            (json!({ "body": "x", "dryrun": true }), "dryRun: must be written exactly so"),
            (
                json!({ "body": " ", "dry-run": true }),
                "body: must not be blank; dryRun: must be written exactly so",
            ),
        ] {
            let refused = key.post(&path, wrong.clone()).await;
            assert_eq!((refused.status, refused.error().as_str()), (400, problem), "{wrong}");
            let mut arguments = wrong.clone();
            arguments["id"] = json!(id);
            let refused = key.tool("add_note", arguments).await;
            assert_eq!(refused, ToolAnswer::Failed { status: 400, sentence: problem.into() });
        }
        let refused = key.post(&format!("{path}?dryRun=All"), json!({ "body": "x" })).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "dryRun: belongs into the body"));
        assert_eq!(world.rows().await, rows);
        // A read changes nothing, so there is nothing to try; and `false` is the real thing.
        let read = key.get("/conversations?dryRun=true").await;
        assert_eq!((read.status, read.header("dry-run")), (200, None));
        let done = key.post(&path, json!({ "body": "x", "dryRun": false })).await;
        assert_eq!((done.status, done.header("dry-run")), (201, None));
        assert_eq!(world.scalar("select count(*) from notes where body = 'x'").await, 1);
    })
    .await;
}
