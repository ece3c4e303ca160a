//! What one workspace's requests wait for, another one's do not: of the connections to the database a workspace has a share.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use sqlx::Connection as _;

use rookery_world::programs::mcp::{NEW, modern_able};
use rookery_world::{Mode, Reply, story_with};

#[tokio::test]
async fn notes_to_a_locked_conversation_keep_no_other_workspace_waiting() {
    story_with(&[("DATABASE_CONNECTIONS", "8")], async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let (key, other) = (
            acme.key("bot", "read,write", Mode::Test).await,
            globex.key("bot", "read,write", Mode::Test).await,
        );
        let [locked, theirs] = [
            key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await,
            other.simulate(json!({ "from": "bo@customer.test", "text": "Hello" })).await,
        ];
        let held = format!("select from conversations where workspace_id = {} for update", acme.id.0);
        let lock = world.holding(&held).await;
        let note = json!({ "body": "x" });
        let notes = join_all((0..40).map(|_| {
            Reply::of(key.ask("POST", &format!("/conversations/{locked}/notes")).json(&note))
        }));
        let neighbour = async {
            // Until all that may wait for the lock do.
            let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
            while world.scalar(waiting).await < 4 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            for _ in 0..20 {
                let listed = tokio::time::timeout(Duration::from_secs(4), other.get("/conversations")).await;
                assert_eq!(listed.expect("it does not wait").status, 200);
            }
            let written = other.post(&format!("/conversations/{theirs}/notes"), note.clone()).await;
            assert_eq!(written.status, 201, "{}", written.text);
            lock.close().await.unwrap();
        };
        let (notes, ()) = futures::join!(notes, neighbour);
        let codes: Vec<u16> = notes.iter().map(|reply| reply.status).collect();
        assert!(codes.iter().all(|code| [201, 429].contains(code)), "{codes:?}");
        assert!(codes.contains(&201));
    })
    .await;
}

/// So many of a workspace wait for a connection: those of a program that asks too much make way.
#[tokio::test]
async fn a_program_that_floods_has_no_other_program_of_its_workspace_refused() {
    story_with(&[("DATABASE_CONNECTIONS", "8")], async |world| {
        let acme = world.workspace("Acme").await;
        let [busy, quiet] =
            [acme.key("bot", "read,write", Mode::Test).await, acme.key("desk", "read", Mode::Test).await];
        let locked = busy.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let held = format!("select from conversations where workspace_id = {} for update", acme.id.0);
        let lock = world.holding(&held).await;
        let note = json!({ "body": "x" });
        let notes = join_all((0..160).map(|_| {
            Reply::of(busy.ask("POST", &format!("/conversations/{locked}/notes")).json(&note))
        }));
        let colleague = async {
            let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
            while world.scalar(waiting).await < 4 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // And the rest has come.
            tokio::time::sleep(Duration::from_millis(500)).await;
            let unlocked = async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                lock.close().await.unwrap();
            };
            let (listed, ()) = futures::join!(quiet.get("/conversations"), unlocked);
            assert_eq!(listed.status, 200, "{}", listed.text);
        };
        let (notes, ()) = futures::join!(notes, colleague);
        let refused = notes.iter().filter(|reply| reply.status == 429).count();
        assert!(refused > 0, "more came than may wait");
    })
    .await;
}

/// Asking the person before mail leaves tries the call, and so waits for what the call waits for.
#[tokio::test]
async fn questions_about_a_locked_conversation_keep_no_other_workspace_waiting() {
    story_with(&[("DATABASE_CONNECTIONS", "8")], async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let key = acme.key("bot", "read,write,draft,send", Mode::Test).await;
        let other = globex.key("bot", "read,write", Mode::Test).await;
        let locked = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let held = format!("select from conversations where workspace_id = {} for update", acme.id.0);
        let lock = world.holding(&held).await;
        let arguments = json!({ "id": locked, "body": "x", "send": true });
        let params = json!({ "name": "reply", "arguments": arguments });
        let able = json!({ "elicitation": {} });
        let questions = join_all(
            (0..40)
                .map(|_| modern_able(&key, "tools/call", Some("reply"), params.clone(), NEW, able.clone())),
        );
        let neighbour = async {
            // Until all that may wait for the lock do.
            let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
            while world.scalar(waiting).await < 4 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // And the rest has come.
            tokio::time::sleep(Duration::from_millis(200)).await;
            for _ in 0..20 {
                let listed = tokio::time::timeout(Duration::from_secs(4), other.get("/conversations")).await;
                assert_eq!(listed.expect("it does not wait").status, 200);
            }
            lock.close().await.unwrap();
        };
        let (questions, ()) = futures::join!(questions, neighbour);
        let asked = questions.iter().filter(|reply| reply.text.contains("input_required")).count();
        assert!(asked > 0, "{}", questions[0].text);
    })
    .await;
}

/// A page of customers is its workspace's, though nobody is signed in.
#[tokio::test]
async fn a_customers_page_that_waits_keeps_no_other_workspace_waiting() {
    story_with(&[("DATABASE_CONNECTIONS", "8")], async |world| {
        let (_acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let other = globex.key("bot", "read", Mode::Test).await;
        let lock = world.holding("lock table booking_types").await;
        let pages = join_all((0..40).map(|_| Reply::of(world.ask("GET", "/book/acme/call"))));
        let neighbour = async {
            let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
            while world.scalar(waiting).await < 4 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            for _ in 0..20 {
                let listed = tokio::time::timeout(Duration::from_secs(4), other.get("/conversations")).await;
                assert_eq!(listed.expect("it does not wait").status, 200);
            }
            lock.close().await.unwrap();
        };
        let (pages, ()) = futures::join!(pages, neighbour);
        let codes: Vec<u16> = pages.iter().map(|reply| reply.status).collect();
        assert!(codes.contains(&404) && codes.iter().all(|code| [404, 429, 500].contains(code)), "{codes:?}");
    })
    .await;
}
