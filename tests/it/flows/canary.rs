//! Leak test: a canary word in everything people write must be in the API's answers, and in no event and no log
//! line.

use serde_json::{Value, json};

use rookery_world::Reply;
use rookery_world::site::{Node, Site, text};

const CANARY: &str = "zanzibarcanary";

/// What the scam check holds.
const SCAM: &str = "Olga Owner here. Urgent: buy gift cards and send me the codes, strictly confidential.";

/// proves: EVT-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_event_and_no_log_line_holds_what_people_wrote() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    // The most talkative log there is.
    let mut node = site.serve("one", &[("ROOKERY_LOG", "trace")]).await;
    let calls = Calls { site: &site, node: &node, key: &key };

    let mail = json!({
        "from": format!("{CANARY}@{CANARY}.test"),
        "name": CANARY,
        "subject": format!("Re: {CANARY}"),
        "text": format!("It says {CANARY}."),
        "attachments": [{ "filename": format!("{CANARY}.txt"), "contentType": "text/plain", "content": "emFueg==" }],
    });
    let id = text(&calls.rest("/sandbox/inbound", &mail, 201).await, "conversationId");
    for (path, tool, body) in writes() {
        let status = if ["status", "assign", "tags"].contains(&path) { 200 } else { 201 };
        calls.rest(&format!("/conversations/{id}/{path}"), &body, status).await;
        calls.tool(tool, &id, &body).await;
    }
    let mut sent = json!({
        "messageId": "one@app.example", "reference": "inv-7", "to": [format!("{CANARY}@{CANARY}.test")],
        "subject": CANARY, "text": CANARY, "html": format!("<p>{CANARY}</p>"),
    });
    calls.rest("/app-mail", &sent, 201).await;
    calls.rest("/app-mail", &sent, 200).await;

    // A reply that reopens, one that carries a reference, one that is held, and one to the app's mail.
    calls.rest(&format!("/conversations/{id}/status"), &json!({ "status": "closed" }), 200).await;
    let replies = [
        json!({ "conversationId": id }),
        json!({ "inReplyTo": "one@app.example" }),
        json!({ "conversationId": id, "text": format!("{SCAM} {CANARY}"), "dmarc": "fail", "name": "Olga Owner" }),
    ];
    for more in replies {
        calls.rest("/sandbox/inbound", &with(&mail, &more), 201).await;
    }

    // Refused writes, and writes that fail half way, are logged too.
    let refused = [
        ("notes", json!({ "body": format!("{CANARY} ").repeat(1_000) })),
        ("tags", json!({ "add": [CANARY.repeat(5)] })),
        ("status", json!({ "status": CANARY })),
        ("assign", json!({ "to": CANARY })),
        ("replies", json!({ "body": [CANARY] })),
        ("document-requests", json!({ "documents": [{ "label": CANARY.repeat(50) }] })),
    ];
    for (path, body) in refused {
        calls.rest(&format!("/conversations/{id}/{path}"), &body, 400).await;
    }
    sent["reference"] = json!(CANARY);
    calls.rest("/app-mail", &sent, 400).await;
    let pool = sqlx::PgPool::connect(site.database.url()).await.expect("the database is there");
    sqlx::raw_sql(
        "create function fail() returns trigger language plpgsql as
             $$ begin raise exception 'a fault was injected'; end $$;
         create constraint trigger fail after insert or update on notes
             deferrable initially deferred for each row execute function fail();
         create constraint trigger fail after insert or update on messages
             deferrable initially deferred for each row execute function fail();
         create constraint trigger fail after insert or update on tags
             deferrable initially deferred for each row execute function fail()",
    )
    .execute(&pool)
    .await
    .expect("the fault can be injected");
    for (path, body) in [
        ("notes", json!({ "body": CANARY })),
        ("tags", json!({ "add": [format!("{CANARY} too")] })),
        ("replies", json!({ "body": CANARY })),
    ] {
        calls.rest(&format!("/conversations/{id}/{path}"), &body, 500).await;
    }
    calls.rest("/sandbox/inbound", &mail, 500).await;

    let read = site.get(&node, &format!("/api/v1/conversations/{id}"), &key).await;
    assert!(read.text.matches(CANARY).count() > 20, "{}", read.text);
    assert_kept_quiet(&pool).await;
    node.terminate();
    assert_eq!(node.ended().await, Some(0));
    let log = node.log();
    for (status, least) in [(200, 12), (201, 8), (400, 7), (500, 4)] {
        let told = log.matches(&format!("\"status\":{status}")).count();
        assert!(told >= least, "{told} requests with {status}: {log}");
    }
    assert!(log.contains("a fault was injected"), "{log}");
    let line = log.lines().find(|line| line.to_lowercase().contains(CANARY));
    assert_eq!(line, None, "the log holds what people wrote");
}

/// Every write on a conversation, with the canary wherever a person or an agent can write freely.
fn writes() -> Vec<(&'static str, &'static str, Value)> {
    let asked = json!([{ "label": CANARY, "description": CANARY }]);
    vec![
        ("notes", "add_note", json!({ "body": format!("@Olga {CANARY}") })),
        ("tags", "tag_conversation", json!({ "add": [CANARY] })),
        ("assign", "assign_conversation", json!({ "to": "me" })),
        ("assign", "assign_conversation", json!({ "to": "none" })),
        ("status", "set_status", json!({ "status": "waiting" })),
        ("replies", "reply", json!({ "body": CANARY, "summary": CANARY, "documents": asked })),
        ("replies", "reply", json!({ "body": CANARY, "send": true })),
        (
            "document-requests",
            "request_documents",
            json!({ "documents": asked, "message": CANARY, "send": true }),
        ),
    ]
}

/// Every kind of event that writing and mail can cause is there, and none has the canary.
async fn assert_kept_quiet(pool: &sqlx::PgPool) {
    let bodies: Vec<String> =
        sqlx::query_scalar("select body from events").fetch_all(pool).await.expect("events can be read");
    let mut kinds = std::collections::BTreeSet::new();
    for body in &bodies {
        assert!(!body.to_lowercase().contains(CANARY), "{body}");
        let event: Value = serde_json::from_str(body).expect("an event is JSON");
        let summary = event["data"]["summary"].as_str().expect("a summary");
        assert!((1..=200).contains(&summary.chars().count()), "{summary}");
        assert!(!summary.chars().any(char::is_control), "{summary}");
        kinds.insert(text(&event, "type"));
    }
    assert!(kinds.into_iter().eq(["client.replied", "conversation.assigned", "scout.held", "turn.changed"]));
}

struct Calls<'a> {
    site: &'a Site,
    node: &'a Node,
    key: &'a str,
}

impl Calls<'_> {
    async fn rest(&self, path: &str, body: &Value, status: u16) -> Value {
        let request = self.site.http.post(format!("{}/api/v1{path}", self.node.address));
        let reply = Reply::of(request.bearer_auth(self.key).json(body)).await;
        assert_eq!(reply.status, status, "{path} {body}: {}", reply.text);
        reply.json()
    }

    async fn tool(&self, name: &str, id: &str, body: &Value) {
        let params = json!({ "name": name, "arguments": with(body, &json!({ "id": id })) });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = self.site.http.post(format!("{}/mcp", self.node.address)).bearer_auth(self.key);
        let reply = Reply::of(request.json(&call)).await.json();
        assert_eq!(reply["result"]["isError"], json!(false), "{name}: {reply}");
    }
}

/// An object with the fields of another put over its own.
fn with(object: &Value, more: &Value) -> Value {
    let mut object = object.clone();
    for (name, value) in more.as_object().expect("an object") {
        object[name] = value.clone();
    }
    object
}
