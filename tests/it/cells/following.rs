//! Whoever listens or follows while a workspace moves: a page's stream ends and the next one hears the new cell, a program
//! that follows events misses none and gets none twice, and a write that is repeated is not done again.

use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::fleet::{Fleet, Serves, Tenant};
use rookery_world::Reply;
use rookery_world::site::{Node, text};

/// A node looks every ten seconds where the workspaces of its streams are.
const PATIENCE: Duration = Duration::from_secs(60);
const ORIGIN: &str = "http://localhost:8080";

async fn cookie(fleet: &Fleet, node: &Node, tenant: &Tenant) -> String {
    let made = fleet.admin(&["sign-in-link", "--workspace", &tenant.id, "--person", &tenant.owner]);
    let url = text(&made, "url").replace(ORIGIN, &node.address);
    let http = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
    let signed = http.post(&url).header("origin", ORIGIN).send().await.unwrap();
    assert_eq!(signed.status(), 303);
    signed.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
}

async fn listens(fleet: &Fleet, node: &Node, cookie: &str) -> reqwest::Response {
    let stream = fleet.site.http.get(format!("{}/live", node.address)).header("cookie", cookie);
    let stream = stream.send().await.unwrap();
    assert_eq!(
        (stream.status().as_u16(), &stream.headers()["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    stream
}

/// Reads a stream until it says this; nothing when it ends before.
async fn hears(stream: &mut reqwest::Response, what: &str) -> Option<()> {
    let mut heard = String::new();
    while !heard.contains(what) {
        let chunk = tokio::time::timeout(PATIENCE, stream.chunk()).await.expect("something is said in time");
        heard.push_str(std::str::from_utf8(&chunk.ok()??).expect("text"));
    }
    Some(())
}

/// The next events after a place, and the place after them.
async fn follows(fleet: &Fleet, node: &Node, tenant: &Tenant, after: &str) -> (Vec<Value>, String) {
    let path = format!("{}/api/v1/events?after={after}&types=conversation.assigned&wait=5", node.address);
    let answer = Reply::of(fleet.site.http.get(path).bearer_auth(&tenant.test)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    (answer["events"].as_array().unwrap().clone(), answer["next"].as_str().unwrap().to_owned())
}

async fn gives(fleet: &Fleet, at: &str, tenant: &Tenant, (key, to): (&str, &str)) -> Reply {
    let given = fleet.site.http.post(format!("{at}/assign")).bearer_auth(&tenant.test);
    Reply::of(given.header("idempotency-key", key).json(&json!({ "to": to }))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_and_programs_that_listen_go_on_in_the_new_cell() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let from = fleet.lives_in(&tenant).await;
    let to = if from == "main" { "west" } else { "main" };
    let node = fleet.serve("one", Serves::Both, &[]).await;
    let cookie = cookie(&fleet, &node, &tenant).await;
    let mail = json!({ "from": "carla@customer.test", "subject": "Order", "text": "Hello" });
    let mail = fleet.site.http.post(format!("{}/api/v1/sandbox/inbound", node.address)).json(&mail);
    let mail = Reply::of(mail.bearer_auth(&tenant.test)).await;
    let at = format!("{}/api/v1/conversations/{}", node.address, text(&mail.json(), "conversationId"));
    let first = gives(&fleet, &at, &tenant, ("before", "me")).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let mut stream = listens(&fleet, &node, &cookie).await;
    hears(&mut stream, "retry").await.expect("it begins");

    let moves = ["cells", "move", "--workspace", &tenant.id, "--to", to];
    let moved = tokio::task::block_in_place(|| fleet.run(&moves));
    assert!(moved.status.success(), "{moved:?}");
    let again = gives(&fleet, &at, &tenant, ("before", "me")).await;
    assert_eq!((again.status, &again.text), (200, &first.text));
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "it was done in the old cell");
    assert_eq!(gives(&fleet, &at, &tenant, ("after", "none")).await.status, 200);

    let (mut nobodys, mut place) = (Vec::new(), "0".to_owned());
    while nobodys.len() < 2 {
        let (events, next) = follows(&fleet, &node, &tenant, &place).await;
        assert!(!events.is_empty(), "{nobodys:?} and nothing in five seconds");
        nobodys.extend(events.iter().map(|event| event["data"]["assignee"].is_null()));
        place = next;
    }
    assert_eq!(nobodys, [false, true], "what happened in both cells, each once and in order");

    assert_eq!(hears(&mut stream, "never said").await, None, "the page's stream ends");
    let mut stream = listens(&fleet, &node, &cookie).await;
    hears(&mut stream, "retry").await.expect("the session came along");
    fleet.admin(&["stop-agents", "--workspace", &tenant.id, "--person", &tenant.owner]);
    hears(&mut stream, "agents").await.expect("it is told what happens in the new cell");
}
