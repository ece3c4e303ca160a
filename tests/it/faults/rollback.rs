//! A fault at the last moment: every statement of a call went well, and then the commit fails.

use rookery_api::operation::Method;
use rookery_core::workspace::access::By;
use rookery_core::workspace::mailboxes;
use serde_json::{Value, json};

use rookery_world::furnished::{Furnished, furnished};
use rookery_world::probe::operations;
use rookery_world::{Key, ToolAnswer, World, story};

const OUR_FAULT: &str = "Something went wrong on our side. Try again shortly.";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Surface {
    Rest,
    Mcp,
}

/// One call that would change something.
struct Attempt<'a> {
    operation: &'static str,
    surface: Surface,
    key: &'a Key<'a>,
    path: String,
    /// The conversation in the path.
    id: Option<String>,
    body: Value,
}

impl Attempt<'_> {
    /// The status and the error's sentence.
    async fn make(&self) -> (u16, Option<String>) {
        if self.surface == Surface::Rest {
            let reply = self.key.post(&self.path, self.body.clone()).await;
            return (reply.status, (reply.status >= 400).then(|| reply.error()));
        }
        let mut arguments = self.body.clone();
        if let Some(id) = &self.id {
            arguments["id"] = json!(id);
        }
        match self.key.tool(self.operation, arguments).await {
            ToolAnswer::Done { .. } => (200, None),
            ToolAnswer::Failed { status, sentence } => (status, Some(sentence)),
        }
    }
}

/// proves: ERR-11, ERR-12
#[tokio::test]
async fn a_commit_that_fails_leaves_no_row_no_event_no_timer_and_no_file() {
    story(async |world| {
        let home = furnished(world).await;
        // Mail waits for its words to be indexed; that is done here, so that nothing moves by itself.
        world.work().await;
        let attempts = attempts(&home);
        let (rows, files) = (world.rows().await, world.files());

        every_commit_fails(world, rows.keys()).await;
        for attempt in &attempts {
            let what = format!("{} by {:?}: {}", attempt.operation, attempt.surface, attempt.body);
            assert_eq!(attempt.make().await, (500, Some(OUR_FAULT.to_owned())), "{what}");
            assert_eq!(world.rows().await, rows, "{what} left a row");
            assert_eq!(world.files(), files, "{what} left a file");
        }

        // Without the fault each of them does leave something, so there was something to take back.
        world.sql("drop function fail_at_commit cascade").await;
        for attempt in &attempts {
            let before = world.rows().await;
            let what = format!("{} by {:?}: {}", attempt.operation, attempt.surface, attempt.body);
            let (status, error) = attempt.make().await;
            assert!((200..300).contains(&status), "{what}: {status} {error:?}");
            assert_ne!(world.rows().await, before, "{what} changed nothing");
        }
        assert!(world.due_messages().await >= 4, "timers were among what was taken back");
        assert!(world.files().len() > files.len(), "files were among what was taken back");
    })
    .await;
}

/// From now on every transaction that touches a row of these tables fails when it commits.
async fn every_commit_fails(world: &World, tables: impl Iterator<Item = &String>) {
    world
        .sql(
            "create function fail_at_commit() returns trigger language plpgsql as
             $$ begin raise exception 'a fault was injected'; end $$",
        )
        .await;
    for table in tables {
        let trigger = format!(
            "create constraint trigger fail_at_commit after insert or update or delete on {table}
             deferrable initially deferred for each row execute function fail_at_commit()"
        );
        world.sql(&trigger).await;
    }
}

/// Every writing operation by REST and, where it has a tool, by MCP.
fn attempts<'a>(home: &'a Furnished<'a>) -> Vec<Attempt<'a>> {
    let full = home.full.to_string();
    let mut attempts = Vec::new();
    for (entry, path) in operations(&full).filter(|(entry, _)| entry.spec.method == Method::Post) {
        // One only makes a link, the other moves the times of what waits: here nothing does.
        if ["offer_times", "advance_sandbox"].contains(&entry.spec.name) {
            continue;
        }
        for surface in [Surface::Rest, Surface::Mcp] {
            if surface == Surface::Mcp && !entry.spec.has_tool {
                continue;
            }
            for body in bodies(entry.spec.name, surface, home) {
                let operation = entry.spec.name;
                let key = if operation == "simulate_inbound" { &home.test } else { &home.live };
                let id = entry.spec.names_a_conversation().then(|| full.clone());
                attempts.push(Attempt { operation, surface, key, path: path.clone(), id, body });
            }
        }
    }
    let named: std::collections::BTreeSet<_> = attempts.iter().map(|attempt| attempt.operation).collect();
    assert!(named.len() >= 8, "the loop found only {named:?}");
    attempts
}

/// Inputs that change something whatever the other surface did before.
fn bodies(operation: &str, surface: Surface, home: &Furnished<'_>) -> Vec<Value> {
    let rest = surface == Surface::Rest;
    match operation {
        "add_note" => vec![json!({ "body": "@Olga, please look." })],
        "set_status" => vec![json!({ "status": if rest { "closed" } else { "waiting" } })],
        "tag_conversation" => vec![json!({ "add": [format!("{surface:?}"), "both"], "remove": ["vip"] })],
        "assign_conversation" => {
            let owner = format!("user:{}", home.workspace.owner);
            vec![json!({ "to": if rest { "none" } else { &owner } })]
        }
        "change_conversations" => {
            let status = if rest { "closed" } else { "waiting" };
            vec![
                json!({ "ids": [home.full.to_string()], "add": [format!("many by {surface:?}")], "status": status }),
            ]
        }
        "reply" => vec![
            json!({ "body": "A draft.", "summary": "In short.", "attachments": [
                { "filename": "a.txt", "contentType": "text/plain", "content": "YQ==" }] }),
            json!({ "body": "It leaves.", "send": true, "documents": [{ "label": "Passport" }] }),
        ],
        "request_documents" => vec![
            json!({ "documents": [{ "label": "Payslip" }], "dueDate": "2031-05-09" }),
            json!({ "documents": [{ "label": "Payslip" }], "send": true }),
        ],
        "record_sent" => vec![json!({
            "messageId": format!("{surface:?}@app.example"),
            "reference": "inv-7",
            "to": ["ada@customer.example"],
            "subject": "Your invoice",
        })],
        "simulate_inbound" => {
            let file =
                json!({ "filename": "a.pdf", "contentType": "application/pdf", "content": "JVBERi0xLjQK" });
            let first = json!({ "from": "ada@customer.test", "text": "Hello.", "attachments": [file] });
            let mut joining = first.clone();
            joining["conversationId"] = json!(home.sandbox);
            vec![first, joining]
        }
        other => panic!("{other} writes, and has no input here"),
    }
}

#[tokio::test]
async fn an_address_reserved_by_a_crash_can_be_made_an_inbox_in_the_same_workspace_only() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        // As a node leaves it that dies between the directory and the workspace.
        world.app.directory.assign_free_domain(acme.id, "acme.example").await.unwrap();
        assert!(world.app.directory.reserve_address(acme.id, "help@acme.example").await.unwrap());
        let taken = async |workspace| {
            let made =
                mailboxes::create(&world.app, workspace, &By::System, "help@acme.example", "Help", None)
                    .await;
            made.map_err(|error| error.sentence().to_string())
        };
        let refusal = Err("address: is taken already".to_owned());
        let theirs = taken(other.id).await.unwrap_err();
        assert!(theirs.starts_with("address: has a domain that belongs to"), "{theirs}");
        assert!(taken(acme.id).await.is_ok(), "the same workspace makes it");
        assert_eq!(taken(acme.id).await.map(drop), refusal, "once");
    })
    .await;
}
