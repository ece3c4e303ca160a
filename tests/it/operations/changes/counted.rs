//! What a call for many conversations counts as, that it is carried out once, and that calls do not block each other.

use futures::future::join_all;
use serde_json::{Value, json};

use super::{PATH, TOOL, done};
use crate::operations::written;
use rookery_world::UNHURRIED;
use rookery_world::{Mode, ToolAnswer, story, story_with};

fn unknown(count: usize) -> Value {
    json!({ "ids": (0..count).map(|number| format!("cnv_{number}")).collect::<Vec<_>>(), "status": "open" })
}

#[tokio::test]
async fn every_ten_conversations_count_as_a_request_and_what_is_refused_counts_as_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        for (many, left) in [(1, 119), (10, 118), (11, 116), (100, 106)] {
            let reply = key.post(PATH, unknown(many)).await;
            assert_eq!(reply.status, 200);
            let wanted = format!("\"requests\";r={left};t=60");
            assert_eq!(reply.header("ratelimit"), Some(&*wanted), "{many}");
        }
        // A tool counts alike, alone and among others. What the schema refuses is one request.
        assert!(matches!(key.tool(TOOL, unknown(95)).await, ToolAnswer::Done { .. }));
        assert!(matches!(key.tool(TOOL, unknown(101)).await, ToolAnswer::Failed { status: 400, .. }));
        let call = |many| {
            let params = json!({ "name": TOOL, "arguments": unknown(many) });
            json!({ "jsonrpc": "2.0", "id": many, "method": "tools/call", "params": params })
        };
        assert_eq!(key.mcp(json!([call(100), call(15)])).await.status, 200);
        assert_eq!(key.get("/me").await.header("ratelimit"), Some("\"requests\";r=82;t=60"));
        for left in [72, 62, 52, 42, 32, 22, 12, 2] {
            let reply = key.post(PATH, unknown(100)).await;
            assert_eq!(reply.header("ratelimit"), Some(&*format!("\"requests\";r={left};t=60")));
        }
        assert_eq!(key.post(PATH, unknown(21)).await.status, 429, "three are not left");
        assert_eq!(key.post(PATH, unknown(20)).await.status, 200, "and none of them was taken");
        assert_eq!(key.get("/me").await.status, 429);
    })
    .await;
}

#[tokio::test]
async fn a_call_with_a_key_is_carried_out_once_with_the_results_of_the_first_time() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello").await.to_string();
        let body = json!({ "ids": [id, "cnv_0000000000001"], "status": "closed" });
        let first = key.post_once("close", PATH, &body).await;
        assert_eq!((first.status, first.json()["results"][1]["status"].as_u64()), (200, Some(404)));
        key.write(&id, "status", "set_status", json!({ "status": "open" }), 200).await;
        let again = key.post_once("close", PATH, &body).await;
        assert_eq!((&again.text, again.header("idempotency-replayed")), (&first.text, Some("true")));
        assert_eq!(key.conversation(&id).await["status"], "open", "it was not closed a second time");
        let other = json!({ "ids": [id], "status": "closed" });
        assert_eq!(key.post_once("close", PATH, &other).await.status, 422);
    })
    .await;
}

/// Whoever locks several does so by their ids: so calls in any order wait for each other, and none is given up.
#[tokio::test]
async fn calls_for_the_same_conversations_in_whatever_order_do_not_block_each_other() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let mut ids = written(&acme.many(help, 12, "deposit").await);
        let mut calls = Vec::new();
        for turn in 0..8 {
            ids.rotate_left(5);
            if turn % 2 == 1 {
                ids.reverse();
            }
            calls.push(json!({ "ids": ids, "add": [format!("turn {turn}")], "to": "me" }));
        }
        for (reply, call) in
            join_all(calls.iter().map(|call| key.post(PATH, call.clone()))).await.iter().zip(&calls)
        {
            let ids = call["ids"].as_array().unwrap().iter();
            let wanted: Vec<Value> = ids.map(|id| done(id.as_str().unwrap())).collect();
            assert_eq!(
                (reply.status, &reply.json()["results"]),
                (200, &Value::Array(wanted)),
                "{}",
                reply.text
            );
        }
        assert_eq!(key.conversation(&ids[0]).await["tags"].as_array().unwrap().len(), 8);
        assert_eq!(key.told(&ids[0], "assigned").await.len(), 1, "it was assigned once");
    })
    .await;
}
