//! Rate limits: 120 requests in a rolling minute for a key, 120 simulated mails for a sandbox.

use chrono::TimeDelta;
use serde_json::{Value, json};

use rookery_world::{Key, Mode, Reply, Workspace, story, story_with};

/// Asks until the first refusal, at most `most` times; gives how many were accepted.
async fn accepted(key: &Key<'_>, most: usize) -> usize {
    for count in 0..most {
        let reply = key.get("/me").await;
        match reply.status {
            200 => {}
            429 => return count,
            other => panic!("{other}: {}", reply.text),
        }
    }
    most
}

async fn key<'w>(acme: &Workspace<'w>, name: &str) -> Key<'w> {
    acme.key(name, "read,write", Mode::Test).await
}

/// proves: RATE-1, RATE-5
#[tokio::test]
async fn exactly_120_requests_are_taken_in_any_minute() {
    story(async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        assert_eq!(accepted(&key, 1).await, 1);
        world.wait(TimeDelta::seconds(1));
        assert_eq!(accepted(&key, 119).await, 119);
        assert_eq!(key.get("/me").await.status, 429, "the 121st");
        // The first request leaves the window 60 seconds after it came, and not a moment before.
        world.wait(TimeDelta::seconds(58));
        assert_eq!(key.get("/me").await.status, 429, "one second before");
        world.wait(TimeDelta::milliseconds(999));
        assert_eq!(key.get("/me").await.status, 429, "a millisecond before");
        world.wait(TimeDelta::milliseconds(1));
        assert_eq!(accepted(&key, 5).await, 1, "one has left, so one is taken");
        world.wait(TimeDelta::seconds(1));
        assert_eq!(accepted(&key, 125).await, 119, "all others of the first minute have left");
        world.wait(TimeDelta::seconds(59));
        assert_eq!(accepted(&key, 5).await, 1);
        world.wait(TimeDelta::minutes(10));
        assert_eq!(accepted(&key, 125).await, 120);
    })
    .await;
}

#[tokio::test]
async fn the_window_rolls_and_never_starts_anew() {
    story(async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        // Twelve every five seconds is more than a minute's worth only from the eleventh round on.
        let mut taken = Vec::new();
        for _ in 0..40 {
            taken.push(accepted(&key, 12).await);
            world.wait(TimeDelta::seconds(5));
        }
        for minute in taken.windows(12) {
            assert!(minute.iter().sum::<usize>() <= 120, "{taken:?}");
        }
        assert!(taken.iter().sum::<usize>() >= 3 * 120, "{taken:?}");
    })
    .await;
}

/// proves: RATE-2, RATE-7
#[tokio::test]
async fn a_refusal_says_to_slow_down_and_when_to_come_back() {
    story(async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        assert_eq!(accepted(&key, 120).await, 120);
        world.wait(TimeDelta::milliseconds(17_400));
        let reply = key.get("/me").await;
        assert_eq!(
            (reply.status, reply.error().as_str()),
            (429, "Too many requests. Slow down to 120 a minute.")
        );
        assert_eq!(reply.header("retry-after"), Some("43"), "42.6 seconds, rounded up");
        world.wait(TimeDelta::seconds(42));
        let reply = key.get("/me").await;
        assert_eq!(
            (reply.status, reply.header("retry-after")),
            (429, Some("1")),
            "whole seconds, at least one"
        );
        world.wait(TimeDelta::seconds(1));
        assert_eq!(key.get("/me").await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn every_authenticated_answer_says_what_is_left() {
    story(async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        let policy = Some("\"requests\";q=120;w=60");
        for (asked, path) in ["/me", "/conversations", "/conversations?limit=0"].into_iter().enumerate() {
            let reply = key.get(path).await;
            assert_eq!(reply.header("ratelimit-policy"), policy);
            assert_eq!(
                reply.header("ratelimit"),
                Some(format!("\"requests\";r={};t=60", 119 - asked).as_str())
            );
        }
        // A 404 must not differ from another 404 in anything, so it does not count aloud.
        let missing = key.get("/conversations/cnv_1").await;
        assert_eq!((missing.header("ratelimit-policy"), missing.header("ratelimit")), (policy, None));
        assert_eq!(accepted(&key, 120).await, 116);
        world.wait(TimeDelta::seconds(20));
        let refused = key.get("/me").await;
        assert_eq!((refused.status, refused.header("ratelimit-policy")), (429, policy));
        assert_eq!(refused.header("ratelimit"), Some("\"requests\";r=0;t=40"));
        let anonymous = Reply::of(world.ask("GET", "/api/v1/me")).await;
        assert_eq!(anonymous.header("ratelimit-policy"), None);
    })
    .await;
}

/// proves: RATE-3
#[tokio::test]
async fn two_keys_are_counted_apart() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (one, two) = (key(&acme, "one").await, key(&acme, "two").await);
        assert_eq!(accepted(&one, 130).await, 120);
        assert_eq!(accepted(&two, 130).await, 120);
        assert_eq!(one.get("/me").await.status, 429);
    })
    .await;
}

/// proves: RATE-4, MCP-13
#[tokio::test]
async fn rest_and_mcp_share_one_count() {
    story(async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        for _ in 0..60 {
            assert_eq!(key.get("/me").await.status, 200);
            assert_eq!(key.mcp(ping.clone()).await.status, 200);
        }
        let (rest, mcp) = (key.get("/me").await, key.mcp(ping).await);
        assert_eq!((rest.status, mcp.status), (429, 429));
        assert_eq!(rest.error(), mcp.error());
        assert_eq!(rest.header("retry-after"), mcp.header("retry-after"));
    })
    .await;
}

#[tokio::test]
async fn whatever_the_result_a_request_counts_and_what_was_not_let_in_does_not() {
    story_with(&[("RATE_LIMIT_REQUESTS", "6")], async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        for _ in 0..10 {
            Reply::of(world.ask("GET", "/api/v1/me")).await;
            Reply::of(key.ask("OPTIONS", "/me")).await;
            Reply::of(key.ask("GET", "/me").header("origin", "https://evil.example")).await;
        }
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(key.get("/nothing").await.status, 404);
        assert_eq!(Reply::of(key.ask("DELETE", "/me")).await.status, 405);
        assert_eq!(key.get("/conversations?limit=0").await.status, 400);
        assert_eq!(key.get("/conversations/cnv_1").await.status, 404);
        assert_eq!(key.mcp(note).await.status, 202);
        assert_eq!(Reply::of(key.ask("HEAD", "/me")).await.status, 200);
        for _ in 0..10 {
            assert_eq!(key.get("/me").await.status, 429);
        }
        world.wait(TimeDelta::minutes(1));
        assert_eq!(accepted(&key, 10).await, 6, "the refused ones were not counted");
    })
    .await;
}

#[tokio::test]
async fn each_message_of_an_array_counts_and_a_refused_array_does_not() {
    story_with(&[("RATE_LIMIT_REQUESTS", "25")], async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        let pings = |count: usize| -> Value {
            (0..count).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).collect()
        };
        assert_eq!(key.mcp(pings(20)).await.status, 200);
        assert_eq!(key.mcp(pings(6)).await.status, 429, "five are left");
        assert_eq!(key.mcp(pings(21)).await.status, 400, "refused for its length: it counts as one");
        assert_eq!(key.mcp(pings(4)).await.status, 200);
        assert_eq!(key.mcp(pings(1)).await.status, 429);
    })
    .await;
}

fn mail(text: &str) -> Value {
    json!({ "from": "ada@customer.test", "subject": text, "text": text })
}

/// proves: RATE-6, SBX-9
#[tokio::test]
async fn a_sandbox_takes_120_mails_a_minute_from_all_its_keys_together() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let keys = [key(&acme, "one").await, key(&acme, "two").await];
        for count in 0..120 {
            keys[count % 2].simulate(mail(&format!("mail {count}"))).await;
        }
        for key in &keys {
            let reply = key.post("/sandbox/inbound", mail("one too many")).await;
            let sentence = "Too many simulated emails. The sandbox takes 120 a minute.";
            assert_eq!((reply.status, reply.error().as_str()), (429, sentence));
            assert_eq!(reply.header("retry-after"), Some("60"));
            assert_eq!(key.get("/me").await.status, 200, "only mail is held back");
        }
        let other = key(&world.workspace("Other").await, "one").await;
        other.simulate(mail("another workspace has a sandbox of its own")).await;
        world.wait(TimeDelta::minutes(1));
        keys[0].simulate(mail("a minute later")).await;
        assert_eq!(keys[0].get("/mailboxes").await.json()[0]["open"], 121);
    })
    .await;
}

#[tokio::test]
async fn mail_that_was_not_stored_does_not_count_for_the_sandbox() {
    story_with(&[("SANDBOX_INBOUND_LIMIT", "3")], async |world| {
        let key = key(&world.workspace("Acme").await, "bot").await;
        for _ in 0..5 {
            assert_eq!(
                key.post("/sandbox/inbound", json!({ "from": "ada@customer.test" })).await.status,
                400
            );
            let lost = json!({ "from": "a@b.test", "text": "Hi", "conversationId": "cnv_0000000000000" });
            assert_eq!(key.post("/sandbox/inbound", lost).await.status, 404);
        }
        key.simulate(mail("one")).await;
        world.sql("alter table messages rename to messages_gone").await;
        for _ in 0..5 {
            assert_eq!(key.post("/sandbox/inbound", mail("lost")).await.status, 500);
        }
        world.sql("alter table messages_gone rename to messages").await;
        key.simulate(mail("two")).await;
        key.simulate(mail("three")).await;
        assert_eq!(key.post("/sandbox/inbound", mail("four")).await.status, 429);
    })
    .await;
}

/// proves: RATE-8
#[tokio::test]
async fn a_refused_request_leaves_nothing_behind() {
    for setting in ["RATE_LIMIT_REQUESTS", "SANDBOX_INBOUND_LIMIT"] {
        story_with(&[(setting, "2")], async |world| {
            let key = key(&world.workspace("Acme").await, "bot").await;
            key.simulate(mail("one")).await;
            let conversation = key.simulate(mail("two")).await;
            let before = world.rows().await;
            let reply =
                json!({ "from": "ada@customer.test", "text": "Again", "conversationId": conversation });
            for body in [mail("three"), reply] {
                assert_eq!(key.post("/sandbox/inbound", body).await.status, 429, "{setting}");
            }
            assert_eq!(world.rows().await, before, "{setting}");
        })
        .await;
    }
}
