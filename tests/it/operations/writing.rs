//! What all writing operations have in common: scopes, visibility, tools, repeats.

use rookery_api::operation::Method;
use rookery_api::registry::OPERATIONS;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, ToolAnswer, story, story_with};

/// A sound body for each operation that writes to a conversation.
fn bodies() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("notes", "add_note", json!({ "body": "x" })),
        ("status", "set_status", json!({ "status": "closed" })),
        ("tags", "tag_conversation", json!({ "add": ["x"] })),
        ("assign", "assign_conversation", json!({ "to": "me" })),
        ("replies", "reply", json!({ "body": "x" })),
        ("document-requests", "request_documents", json!({ "documents": [{ "label": "x" }] })),
    ]
}

#[test]
fn no_operation_that_writes_to_a_conversation_is_left_out_here() {
    let posts = OPERATIONS
        .iter()
        .filter(|entry| entry.spec.method == Method::Post && entry.spec.names_a_conversation())
        // It only makes a link; bookings::api has its stories.
        .filter(|entry| entry.spec.name != "offer_times");
    let mut names: Vec<_> = posts.map(|entry| entry.spec.name).collect();
    let mut here: Vec<_> = bodies().into_iter().map(|(_, name, _)| name).collect();
    names.sort_unstable();
    here.sort_unstable();
    assert_eq!(names, here);
}

/// proves: VIS-5, MCP-12
#[tokio::test]
async fn what_a_key_cannot_see_it_cannot_write_to_and_all_of_it_answers_alike() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let anna = acme.person("Anna Berg", Role::Member).await;
        let private = acme.private_mailbox("anna@acme.example", "Anna", anna).await;
        let hidden = acme.mail(private, "ada@customer.example", "Hi", "Hello").await.to_string();
        let other = world.workspace("Other").await;
        let inbox = other.mailbox("help@other.example", "Help").await;
        let foreign = other.mail(inbox, "ada@customer.example", "Hi", "Hello").await.to_string();
        let test = acme.key("bot", "write", Mode::Test).await;
        let simulated = test.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let before = world.rows().await;
        for (path, tool, body) in bodies() {
            let mut answers = Vec::new();
            for id in
                [hidden.as_str(), &foreign, &simulated, "cnv_0000000000001", "nonsense", "msg_0000000000001"]
            {
                for body in [body.clone(), json!({})] {
                    let reply = key.post(&format!("/conversations/{id}/{path}"), body.clone()).await;
                    let mut headers = reply.headers.clone();
                    headers.remove("x-request-id");
                    headers.remove("date");
                    let mut arguments = body;
                    arguments["id"] = json!(id);
                    answers.push((reply.status, reply.text, headers, key.tool(tool, arguments).await));
                }
            }
            answers.dedup();
            assert_eq!(answers.len(), 1, "{path}: {answers:?}");
            assert_eq!((answers[0].0, answers[0].1.as_str()), (404, r#"{"error":"No such conversation."}"#));
            assert_eq!(
                answers[0].3,
                ToolAnswer::Failed { status: 404, sentence: "No such conversation.".into() }
            );
        }
        assert_eq!(world.rows().await, before, "nothing was written");
    })
    .await;
}

/// proves: SCOPE-3, MCP-7, MCP-8
#[tokio::test]
async fn a_key_without_the_scope_is_told_which_one_it_lacks_also_by_a_tool_it_cannot_see() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let writer = acme.key("writer", "write", Mode::Test).await;
        let id = writer.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let others = acme.key("others", "draft,send,record", Mode::Test).await;
        for (path, tool, body) in bodies().into_iter().take(4) {
            let (status, sentence) = others.refused(&id, path, tool, body).await;
            assert_eq!((status, sentence.as_str()), (403, "This key lacks the write scope."), "{tool}");
            // The scope is asked for before the id is looked at.
            let failed = ToolAnswer::Failed { status: 403, sentence };
            assert_eq!(others.tool(tool, json!({})).await, failed);
        }
        let drafter = acme.key("drafter", "draft", Mode::Test).await;
        let sending = json!({ "body": "x", "send": true });
        assert_eq!(
            drafter.refused(&id, "replies", "reply", sending).await,
            (403, "This key lacks the send scope.".into())
        );
    })
    .await;
}

/// proves: MCP-4, MCP-6
#[tokio::test]
async fn each_scope_shows_its_tools() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let read = [
            "list_conversations",
            "get_conversation",
            "list_contacts",
            "get_contact",
            "list_mailboxes",
            "list_tags",
            "list_booking_types",
            "list_bookings",
            "search_documents",
            "get_document",
            "get_document_download",
            "list_events",
        ];
        let write =
            ["add_note", "set_status", "tag_conversation", "assign_conversation", "change_conversations"];
        let reply = ["reply", "request_documents"];
        for (scopes, more) in [
            ("read", vec![]),
            ("write", write.to_vec()),
            ("draft", [&reply[..], &["offer_times"]].concat()),
            ("send", reply.to_vec()),
            ("record", vec!["record_sent"]),
            ("write,draft,send,record", [&write[..], &reply[..], &["offer_times", "record_sent"]].concat()),
        ] {
            let key = acme.key(scopes, scopes, Mode::Live).await;
            let mut wanted = [&read[..], &more].concat();
            wanted.sort_unstable();
            assert_eq!(tools(&key).await, wanted, "{scopes}");
        }
    })
    .await;
}

/// proves: GEN-9, GEN-12
#[tokio::test]
async fn repeating_a_repeatable_call_or_adding_unknown_fields_changes_nothing_more() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        for (path, tool, body) in
            bodies().into_iter().filter(|(path, ..)| ["status", "tags", "assign"].contains(path))
        {
            key.write(&id, path, tool, body.clone(), 200).await;
            let (read, events) = (key.conversation(&id).await, world.event_count().await);
            let mut again = body;
            again["futureField"] = json!({ "deep": [1, null] });
            key.write(&id, path, tool, again, 200).await;
            assert_eq!((key.conversation(&id).await, world.event_count().await), (read, events), "{path}");
        }
        assert_eq!(key.get("/conversations?future=1&view=closed").await.json()[0]["id"], id);
    })
    .await;
}

/// proves: AUTH-13
#[tokio::test]
async fn an_agent_goes_by_its_keys_name_everywhere() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("Billing Bot 7", "write,draft", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        for (path, tool, body) in bodies() {
            let status = if ["notes", "replies", "document-requests"].contains(&path) { 201 } else { 200 };
            key.write(&id, path, tool, body, status).await;
        }
        assert_eq!(key.get("/me").await.json()["agent"]["name"], "Billing Bot 7");
        let read = key.conversation(&id).await;
        assert_eq!(read["team"]["agents"][0]["name"], "Billing Bot 7");
        assert_eq!(read["assignee"]["name"], "Billing Bot 7");
        for item in read["timeline"].as_array().unwrap() {
            match item["type"].as_str().unwrap() {
                "note" => assert_eq!(item["author"], "Billing Bot 7"),
                "event" => assert_eq!(item["actor"], "Billing Bot 7"),
                _ => {}
            }
        }
        let authors: Vec<i64> =
            sqlx::query_scalar("select distinct author_id from messages where direction = 'outbound'")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(authors, [key.agent.0], "the drafts are its own");
    })
    .await;
}

async fn tools(key: &Key<'_>) -> Vec<String> {
    let reply = key.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await.json();
    let mut names: Vec<String> = reply["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().into())
        .collect();
    names.sort_unstable();
    names
}
