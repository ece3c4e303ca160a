//! The general frame: addresses, JSON, headers, names, timestamps, nulls, and what a tolerant reader ignores.

use std::collections::HashSet;

use rookery_api::operation::Method;
use rookery_api::registry::OPERATIONS;
use serde_json::{Value, json};

use super::openapi::whole;
use rookery_world::furnished::furnished;
use rookery_world::probe::{NOBODY, operations};
use rookery_world::{Mode, Reply, story, story_with};

/// proves: GEN-1, VER-1
#[tokio::test]
async fn rest_lives_below_its_prefix_and_mcp_beside_it() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "read", Mode::Live).await;
        for (entry, path) in operations(NOBODY) {
            let method = entry.spec.method.as_str();
            let below = Reply::of(key.ask(method, &path)).await;
            assert!(!below.text.contains("No such endpoint."), "{path}: {}", below.text);
            // The description has a public copy there; nothing else is anywhere but below the prefix.
            if entry.spec.name != "openapi" {
                let beside = Reply::of(world.ask(method, &path).bearer_auth(&key.text)).await;
                // Where a page of the app has that path, a key opens nothing.
                let page = ["<title>Sign in", "<title>Not allowed"];
                let refused = beside.text.contains("No such endpoint.")
                    || (beside.text.is_empty() && [303, 405].contains(&beside.status));
                assert!(
                    refused || page.iter().any(|title| beside.text.contains(title)),
                    "{path}: {}",
                    beside.text
                );
            }
        }
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        assert_eq!(key.mcp(ping.clone()).await.json()["result"], json!({}));
        assert_eq!(key.post("/mcp", ping).await.status, 404);
    })
    .await;
}

/// proves: GEN-2
#[tokio::test]
async fn every_answer_with_a_body_is_json_and_has_the_standard_headers() {
    story_with(&[("RATE_LIMIT_REQUESTS", "1000")], async |world| {
        let home = furnished(world).await;
        let mut replies = Vec::new();
        for (entry, path) in operations(&home.sandbox) {
            for method in ["GET", "POST", "DELETE"] {
                replies.push(Reply::of(world.ask(method, &format!("/api/v1{path}"))).await);
                for key in [&home.live, &home.test] {
                    replies.push(Reply::of(key.ask(method, &path)).await);
                    replies.push(Reply::of(key.ask(method, &path).body("{nonsense")).await);
                }
            }
            assert!(replies.iter().any(|reply| reply.status == 405), "{}", entry.spec.name);
        }
        for path in ["/nothing", "/", "/me/", "/conversations/cnv_1"] {
            replies.push(home.live.get(path).await);
        }
        for method in ["GET", "DELETE", "POST"] {
            replies.push(Reply::of(world.ask(method, "/mcp")).await);
        }
        replies.push(home.live.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await);
        replies
            .push(Reply::of(world.ask("GET", "/api/v1/me").header("origin", "https://evil.example")).await);

        let codes: HashSet<u16> = replies.iter().map(|reply| reply.status).collect();
        assert!([200, 400, 401, 403, 404, 405].iter().all(|code| codes.contains(code)), "{codes:?}");
        let mut ids = HashSet::new();
        for reply in &replies {
            assert!(reply.json().is_object() || reply.json().is_array());
            for (name, value) in [
                ("content-type", "application/json"),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
            ] {
                assert_eq!(reply.header(name), Some(value), "{name} of {reply:?}");
            }
            let id = reply.header("x-request-id").unwrap_or_else(|| panic!("no request id: {reply:?}"));
            assert!(ids.insert(id.to_owned()), "two requests have one id");
        }
    })
    .await;
}

/// What a table of the specification's section 2 promises: each field, and its types.
type Table = &'static [(&'static str, &'static str)];

const ME: Table = &[("agent", "object"), ("scopes", "array"), ("livemode", "boolean"), ("limits", "object")];
const AGENT: Table = &[("id", "string"), ("name", "string")];
const SUMMARY: Table = &[
    ("id", "string"),
    ("subject", "string"),
    ("snippet", "string"),
    ("status", "string"),
    ("contact", "object"),
    ("mailbox", "string"),
    ("lastMessageAt", "string"),
    ("messageCount", "integer"),
    ("assignee", "object null"),
    ("tags", "array"),
    ("topic", "string null"),
    ("urgency", "string null"),
    ("risk", "string null"),
];
const FULL: Table =
    &[("riskReasons", "array"), ("snoozedUntil", "string null"), ("timeline", "array"), ("team", "object")];
const CONTACT: Table = &[("name", "string null"), ("email", "string null")];
const KNOWN_CONTACT: Table = &[("id", "string"), ("email", "string"), ("name", "string null")];
const ASSIGNEE: Table = &[("id", "string"), ("name", "string"), ("type", "string")];
const TEAM: Table = &[("people", "array"), ("agents", "array")];
const MESSAGE: Table = &[
    ("id", "string"),
    ("at", "string"),
    ("direction", "string"),
    ("from", "object"),
    ("status", "string null"),
    ("text", "string"),
    ("attachments", "array"),
];
const ATTACHMENT: Table = &[("filename", "string"), ("contentType", "string"), ("size", "integer")];
const NOTE: Table = &[("id", "string"), ("at", "string"), ("author", "string"), ("body", "string")];
const EVENT: Table = &[("at", "string"), ("actor", "string"), ("event", "string"), ("data", "object")];
const MAILBOX: Table = &[("id", "string"), ("address", "string"), ("name", "string"), ("open", "integer")];
const TAG: Table = &[("id", "string"), ("name", "string"), ("count", "integer")];
const DOCUMENT: Table = &[
    ("id", "string"),
    ("title", "string"),
    ("filename", "string"),
    ("kind", "string null"),
    ("fields", "object"),
    ("conversationId", "string null"),
    ("createdAt", "string"),
];
/// `search_documents` has these of each; one whole document has more.
const WHOLE: Table =
    &[("size", "integer"), ("reading", "object null"), ("corrected", "array"), ("text", "string")];

const DOWNLOAD: Table =
    &[("url", "string"), ("endsAt", "string"), ("filename", "string"), ("size", "integer")];

const BOOKING_TYPE: Table = &[
    ("id", "string"),
    ("name", "string"),
    ("about", "string"),
    ("minutes", "integer"),
    ("hosts", "array"),
    ("active", "boolean"),
    ("url", "string"),
];
const BOOKING: Table = &[
    ("id", "string"),
    ("bookingTypeId", "string"),
    ("hostUserId", "string"),
    ("conversationId", "string null"),
    ("startsAt", "string"),
    ("endsAt", "string"),
    ("rsvp", "string null"),
];

const DAY: Table = &[
    ("agent", "object"),
    ("date", "string"),
    ("zone", "string"),
    ("reads", "integer"),
    ("writes", "integer"),
    ("refused", "integer"),
    ("capped", "boolean"),
    ("sends", "integer"),
    ("drafts", "integer"),
    ("limits", "object"),
    ("left", "object"),
    ("calls", "array"),
];
const LIMITS: Table =
    &[("sendsADay", "integer null"), ("draftsADay", "integer null"), ("messagesADay", "integer null")];

const FOLLOWED: Table = &[("events", "array"), ("next", "string")];

/// proves: GEN-8
#[tokio::test]
async fn every_documented_field_is_there_with_its_type() {
    story(async |world| {
        let home = furnished(world).await;
        let mut seen = HashSet::new();
        for (operation, answer) in home.answers().await {
            for item in answer.as_array().unwrap_or(&vec![answer.clone()]) {
                let checks: Vec<(Table, &Value)> = match operation {
                    "me" => vec![(ME, item), (AGENT, &item["agent"]), (LIMITS, &item["limits"])],
                    "get_agent_day" => vec![(DAY, item), (AGENT, &item["agent"]), (LIMITS, &item["left"])],
                    "list_conversations" => vec![(SUMMARY, item), (CONTACT, &item["contact"])],
                    "get_conversation" => {
                        let mut checks =
                            vec![(FULL, item), (CONTACT, &item["contact"]), (TEAM, &item["team"])];
                        let both =
                            SUMMARY.iter().filter(|(name, _)| !["snippet", "messageCount"].contains(name));
                        expect_fields(&both.copied().collect::<Vec<_>>(), item);
                        checks.extend(timeline_checks(item, &mut seen));
                        checks
                    }
                    "list_contacts" => vec![(KNOWN_CONTACT, item)],
                    "get_contact" => vec![(KNOWN_CONTACT, item), (SUMMARY, &item["conversations"][0])],
                    "list_mailboxes" => vec![(MAILBOX, item)],
                    "list_tags" => vec![(TAG, item)],
                    "list_booking_types" => vec![(BOOKING_TYPE, item)],
                    "list_bookings" => vec![(BOOKING, item)],
                    "search_documents" => vec![(DOCUMENT, item)],
                    "get_document" => vec![(DOCUMENT, item), (WHOLE, item)],
                    "get_document_download" => vec![(DOWNLOAD, item)],
                    "follow_sandbox" | "list_events" => vec![(FOLLOWED, item)],
                    "openapi" => Vec::new(),
                    other => panic!("write down the fields of {other}"),
                };
                seen.insert(operation.to_owned());
                checks.into_iter().for_each(|(table, value)| expect_fields(table, value));
                if item["assignee"].is_object() {
                    expect_fields(ASSIGNEE, &item["assignee"]);
                }
            }
        }
        for wanted in ["list_tags", "search_documents", "message", "note", "event"] {
            assert!(seen.contains(wanted), "no {wanted} was looked at");
        }
    })
    .await;
}

fn timeline_checks<'v>(conversation: &'v Value, seen: &mut HashSet<String>) -> Vec<(Table, &'v Value)> {
    let mut checks: Vec<(Table, &Value)> = Vec::new();
    for item in conversation["timeline"].as_array().expect("a timeline") {
        let kind = item["type"].as_str().expect("a type");
        seen.insert(kind.to_owned());
        match kind {
            "message" => {
                checks.push((MESSAGE, item));
                let files = item["attachments"].as_array().expect("attachments");
                checks.extend(files.iter().map(|file| (ATTACHMENT, file)));
            }
            "note" => checks.push((NOTE, item)),
            "event" => checks.push((EVENT, item)),
            other => panic!("the specification knows no item {other}"),
        }
    }
    checks
}

fn expect_fields(table: &[(&str, &str)], value: &Value) {
    for (name, types) in table {
        let field = value.get(name).unwrap_or_else(|| panic!("{name} is missing in {value}"));
        let kind = match field {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_i64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        assert!(types.split(' ').any(|known| known == kind), "{name} is {kind} in {value}");
    }
}

/// proves: GEN-3
#[tokio::test]
async fn every_timestamp_is_utc_with_milliseconds() {
    story(async |world| {
        let home = furnished(world).await;
        let mut found = 0;
        for (operation, answer) in home.answers().await {
            if operation != "openapi" {
                found += check_times(&answer);
            }
        }
        assert!(found > 20, "only {found} timestamps were looked at");
        // Reading compares what MCP says with REST, letter by letter.
        found = check_times(&home.live.list("view=snoozed").await.1)
            + check_times(&home.live.conversation(home.full).await);
        assert!(found > 5, "only {found} timestamps were looked at");
        let events = [world.events("turn.changed").await, world.events("client.replied").await].concat();
        assert!(events.len() > 3 && events.iter().all(|event| check_times(event) > 0));
    })
    .await;
}

/// Checks the values of all fields whose name says that they are a time, and counts them.
fn check_times(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(check_times).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let is_time = name == "at" || ["At", "_at", "Until"].iter().any(|end| name.ends_with(end));
                match value {
                    Value::String(text) if is_time => {
                        let shape: String =
                            text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
                        assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{name} is {text}");
                        1
                    }
                    other => check_times(other),
                }
            })
            .sum(),
        _ => 0,
    }
}

/// proves: GEN-5
#[tokio::test]
async fn every_conversation_id_has_its_form() {
    story(async |world| {
        let home = furnished(world).await;
        let mut ids = vec![home.sandbox.clone()];
        for query in ["", "view=snoozed"] {
            ids.extend(home.live.listed(query).await);
            ids.extend(home.test.listed(query).await);
        }
        ids.push(home.live.conversation(home.full).await["id"].as_str().expect("an id").to_owned());
        let (_, documents) = home.live.read("/documents", "search_documents", json!({})).await;
        ids.push(documents[0]["conversationId"].as_str().expect("it came with a mail").to_owned());
        for event in world.events("turn.changed").await {
            ids.push(event["data"]["conversation_id"].as_str().expect("an id").to_owned());
        }
        assert!(ids.len() >= 7, "{ids:?}");
        for id in ids {
            let rest = id.strip_prefix("cnv_").unwrap_or_else(|| panic!("{id}"));
            let allowed = |letter: char| letter.is_ascii_digit() || letter.is_ascii_lowercase();
            assert!(!rest.is_empty() && rest.chars().all(allowed), "{id}");
        }
    })
    .await;
}

/// proves: GEN-6
#[tokio::test]
async fn names_are_camel_case_in_answers_and_snake_case_in_events() {
    story(async |world| {
        let home = furnished(world).await;
        let camel = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_alphanumeric())
        };
        let snake =
            |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        for (operation, answer) in home.answers().await {
            if operation != "openapi" {
                names(&answer).iter().for_each(|name| assert!(camel(name), "{operation} gives {name}"));
            }
        }
        for entry in OPERATIONS.iter() {
            for schema in [&entry.input.json, &entry.output] {
                fields(schema)
                    .iter()
                    .for_each(|(name, _, _)| assert!(camel(name), "{}: {name}", entry.spec.name));
            }
        }
        let events = [world.events("turn.changed").await, world.events("client.replied").await].concat();
        assert!(events.len() > 3);
        events.iter().flat_map(names).for_each(|name| assert!(snake(&name), "{name}"));
        let described = whole(&home.live.get("/openapi.json").await.json());
        let described = fields(&described["webhooks"]);
        assert!(described.iter().any(|(name, _, _)| name == "conversation_id"));
        described.iter().for_each(|(name, _, _)| assert!(snake(name), "{name}"));
    })
    .await;
}

/// proves: GEN-7
#[tokio::test]
async fn what_may_be_null_is_there_and_what_is_optional_is_left_out() {
    for entry in OPERATIONS.iter() {
        for (name, schema, required) in fields(&entry.output) {
            let nullable = schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")))
                || schema["anyOf"].as_array().is_some_and(|any| any.contains(&json!({ "type": "null" })));
            // The keys of a document's `fields` are the one place where both are promised.
            let both = ["vendor", "amount", "currency", "date", "dueDate"].contains(&name.as_str())
                || (["search_documents", "get_document"].contains(&entry.spec.name) && name == "reference");
            assert!(both || !nullable || required, "{}: {name} is both", entry.spec.name);
        }
    }
    story(async |world| {
        let home = furnished(world).await;
        let bare = home.live.conversation(home.bare).await;
        for name in ["assignee", "topic", "urgency", "risk", "snoozedUntil"] {
            assert_eq!(bare.get(name), Some(&Value::Null), "{name}");
        }
        assert_eq!(bare["contact"], json!({ "name": null, "email": "zoe@customer.example" }));
        assert_eq!(bare["timeline"][0].get("status"), Some(&Value::Null));
        assert!(["reference", "appSent"].iter().all(|name| bare.get(name).is_none()), "{bare}");
        let listed = home.live.list("").await.1;
        assert_eq!((&listed[0]["topic"], listed[0].get("reference")), (&Value::Null, None), "{listed}");
        assert_eq!(home.live.conversation(home.full).await["reference"], "inv-1042");
    })
    .await;
}

/// proves: GEN-12
#[tokio::test]
async fn unknown_parameters_and_fields_change_nothing() {
    story(async |world| {
        let home = furnished(world).await;
        for (entry, path) in operations(&home.full.to_string()) {
            if entry.spec.method == Method::Get {
                let key = home.key_for(entry);
                let plain = key.get(&path).await;
                let odd = key.get(&format!("{path}?colour=blue&offset=x&offset=y&limit[]=0")).await;
                assert_eq!((plain.status, &plain.text), (200, &odd.text), "{path}");
            }
            if entry.spec.has_tool && entry.spec.method == Method::Get {
                let id = home.full.to_string();
                let plain = home.live.tool(entry.spec.name, json!({ "id": id })).await;
                let odd = json!({ "id": id, "colour": ["blue"], "offset": { "x": 1 } });
                assert_eq!(plain, home.live.tool(entry.spec.name, odd).await);
            }
        }
        let file =
            json!({ "filename": "a.txt", "contentType": "text/plain", "content": "YQ==", "colour": 1 });
        let mail =
            json!({ "from": "a@b.test", "text": "Hi", "attachments": [file], "status": "closed", "x": {} });
        let id = home.test.simulate(mail).await;
        let conversation = home.test.conversation(&id).await;
        assert_eq!(conversation["status"], "open");
        assert_eq!(conversation["timeline"][0]["attachments"][0]["filename"], "a.txt");
    })
    .await;
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    story(async |world| {
        let home = furnished(world).await;
        for (entry, path) in operations(&home.full.to_string()) {
            if entry.spec.method == Method::Get {
                let key = home.key_for(entry);
                let (get, head) = (key.get(&path).await, Reply::of(key.ask("HEAD", &path)).await);
                assert_eq!((head.status, head.text.as_str()), (200, ""), "{path}");
                assert_eq!(head.header("content-type"), get.header("content-type"));
                assert_eq!(head.header("content-length"), Some(get.text.len().to_string().as_str()));
            }
        }
    })
    .await;
}

/// The name of every field in an answer, at any depth.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Object(fields) => {
            let inner = fields.values().flat_map(names);
            fields.keys().cloned().chain(inner).collect()
        }
        _ => Vec::new(),
    }
}

/// Every field that a schema describes, at any depth: its name, its schema, and whether it is always there.
fn fields(schema: &Value) -> Vec<(String, Value, bool)> {
    let mut found = Vec::new();
    match schema {
        Value::Array(items) => items.iter().for_each(|item| found.extend(fields(item))),
        Value::Object(keywords) => {
            let none = Vec::new();
            let required = keywords.get("required").and_then(Value::as_array).unwrap_or(&none);
            for (keyword, value) in keywords {
                if keyword == "properties"
                    && let Some(properties) = value.as_object()
                {
                    for (name, schema) in properties {
                        found.push((name.clone(), schema.clone(), required.contains(&json!(name))));
                        found.extend(fields(schema));
                    }
                } else {
                    found.extend(fields(value));
                }
            }
        }
        _ => {}
    }
    found
}
