//! The OpenAPI 3.1 description (specification 4.15), a loop over the registry: the schemas in it are the
//! ones that are enforced. `names` gives those that clients share a name.

mod names;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use url::Url;

use crate::cursor;
use crate::idempotency::LONGEST;
use crate::operation::{Method, Needs};
use crate::registry::{OPERATIONS, RegisteredOperation, schema_by};
use crate::rest::PREFIX;
use rookery_base::app::App;
use rookery_base::breaking_changes::{self, BreakingChange};
use rookery_base::error::Result;
use rookery_core::events::event::Kind;

const ABOUT: &str = "A shared customer-email inbox for teams and their software agents. Replies written \
    through the API are drafts for a person to approve, or leave after an undo window. Clients ignore fields \
    they do not know: new ones may be added at any time.";

/// The document of this service, made once.
pub fn document(app: &App) -> Result<Box<RawValue>> {
    if let Some(made) = app.openapi.get() {
        return Ok(made.clone());
    }
    let made = to_raw_value(&describe(&app.config.public_url, app.breaking_changes))?;
    Ok(app.openapi.get_or_init(|| made).clone())
}

/// The document for a service at this public address.
pub fn describe(public_url: &Url, changes: &[BreakingChange]) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for entry in OPERATIONS.iter() {
        let path = paths.entry(entry.spec.path).or_insert_with(|| json!({}));
        let method = entry.spec.method.as_str().to_lowercase();
        path[&method] = operation(entry, breaking_changes::first(changes, entry.spec.name));
    }
    let mut document = json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Rookery API",
            "version": "1",
            "summary": "Conversations, documents and app mail of a shared inbox.",
            "description": ABOUT,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "externalDocs": { "url": format!("{}/docs", public_url.as_str().trim_end_matches('/')) },
        "servers": [{ "url": format!("{}{PREFIX}", public_url.as_str().trim_end_matches('/')) }],
        "security": [{ "key": [] }],
        "tags": GROUPS.iter().map(|(name, about, _)| json!({ "name": name, "description": about })).collect::<Vec<_>>(),
        "paths": paths,
        "webhooks": webhooks(),
        "components": {
            "securitySchemes": { "key": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key: `rk_live_…`, or `rk_test_…` for the sandbox.",
            } },
            "schemas": { "Error": {
                "type": "object",
                "description": "What went wrong, as a sentence for people. Programs go by the status code.",
                "properties": { "error": { "type": "string", "minLength": 1 } },
                "required": ["error"],
                "additionalProperties": false,
            } },
            "responses": errors(),
        },
    });
    names::give(&mut document);
    document
}

/// The groups of the reference, with the first parts of their paths.
const GROUPS: &[(&str, &str, &[&str])] = &[
    ("Conversations", "Reading, answering and filing what customers wrote.", &["conversations"]),
    ("Contacts", "Who wrote, and what they wrote before.", &["contacts"]),
    ("Workspace", "Who this key is, and what it can see.", &["me", "mailboxes", "tags", "openapi.json"]),
    ("Documents", "Files that customers sent, and what was read in them.", &["documents"]),
    ("Bookings", "Times that visitors can book, and what is booked.", &["booking-types", "bookings"]),
    ("Agents", "What an agent read, changed and was refused.", &["agents"]),
    ("Events", "What happened, for polling instead of webhooks.", &["events"]),
    ("Webhooks", "Your own URLs that receive events.", &["webhooks"]),
    ("App mail", "Mail that your app sends by itself.", &["app-mail"]),
    ("Sandbox", "Simulated customers, for test keys.", &["sandbox"]),
];

fn group_of(path: &str) -> &'static str {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let found = GROUPS.iter().find(|(_, _, starts)| starts.contains(&first));
    found.map_or("", |(name, _, _)| *name)
}

fn operation(entry: &RegisteredOperation, ending: Option<&BreakingChange>) -> Value {
    let spec = &entry.spec;
    let needs = match spec.needs {
        Needs::Nothing => "Needs a valid key.".to_owned(),
        Needs::Scope(scope) => format!("Needs the `{scope}` scope."),
        Needs::DraftOrSend => "Needs the `draft` scope, or the `send` scope when `send` is true.".to_owned(),
        Needs::TestKey(scope) => format!("Needs a test key with the `{scope}` scope."),
    };
    let repeat =
        if spec.repeatable { "Safe to repeat." } else { "Not safe to repeat: each call makes a new item." };
    let mut operation = json!({
        "operationId": spec.name,
        "tags": [group_of(spec.path)],
        "summary": spec.title,
        "description": format!("{} {needs} {repeat}", spec.about),
        "responses": { spec.status.to_string(): {
            "description": "Done.",
            "content": { "application/json": { "schema": entry.output } },
        } },
    });
    if spec.method == Method::Post {
        operation["responses"][spec.status.to_string()]["headers"] = headers_of_a_write();
    }
    if cursor::is_taken(&entry.input) {
        operation["responses"][spec.status.to_string()]["headers"] = json!({ "Link": {
            "description": "`<…>; rel=\"next\"`: where what comes next is. Left out at the end.",
            "schema": { "type": "string" },
        } });
    }
    if spec.gives_file {
        operation["responses"][spec.status.to_string()] = json!({
            "description": "The file, to be saved: `Content-Disposition: attachment`.",
            "content": { "application/octet-stream": {} },
        });
    }
    if let Some(change) = ending {
        operation["deprecated"] = json!(true);
        operation["description"] = json!(format!("{} {needs} {repeat} {}", spec.about, change.sentence()));
    }
    if let Some(status) = spec.repeat_status {
        operation["responses"][status.to_string()] = json!({
            "description": "Done before.",
            "headers": headers_of_a_write(),
            "content": { "application/json": { "schema": entry.output } },
        });
    }
    let parameters = parameters(entry);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if spec.method == Method::Post {
        let has_required = entry.input.json.get("required").is_some();
        operation["requestBody"] = json!({
            "required": has_required,
            "content": { "application/json": { "schema": entry.input.json } },
        });
    }
    for code in possible_errors(entry) {
        operation["responses"][code] = json!({ "$ref": format!("#/components/responses/{code}") });
    }
    operation
}

fn headers_of_a_write() -> Value {
    let mark = |about| json!({ "description": about, "schema": { "type": "string", "const": "true" } });
    json!({
        "Idempotency-Replayed":
            mark("The request was carried out before, with the same `Idempotency-Key`, and this was its answer."),
        "Dry-Run": mark("`dryRun` was true: nothing of it stayed."),
    })
}

/// The path's id and, for a read, the query. Limits stand in the schemas.
fn parameters(entry: &RegisteredOperation) -> Vec<Value> {
    let mut parameters = Vec::new();
    if entry.spec.names_something() {
        let names = entry.spec.names;
        parameters.push(json!({
            "name": "id", "in": "path", "required": true, "description": names.about(),
            "schema": { "type": "string", "pattern": names.pattern() },
        }));
    }
    if entry.spec.method == Method::Post {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "A name of your own for this request. When the request comes again within 24 hours, nothing is done twice and the answer is the first one's.",
            "schema": { "type": "string", "minLength": 1, "maxLength": LONGEST },
        }));
    }
    if entry.spec.method == Method::Get {
        let none = Map::new();
        let fields = entry.input.json.get("properties").and_then(Value::as_object).unwrap_or(&none);
        for (name, schema) in fields {
            let mut schema = not_null(schema);
            let about = schema.as_object_mut().and_then(|fields| fields.shift_remove("description"));
            let mut parameter =
                json!({ "name": name, "in": "query", "required": false, "allowEmptyValue": true });
            if let Some(about) = about {
                parameter["description"] = about;
            }
            parameter["schema"] = schema;
            parameters.push(parameter);
        }
    }
    parameters
}

/// A query has no null: an absent parameter is left out.
fn not_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Array(types)) = schema.get("type") {
        let mut types: Vec<Value> = types.iter().filter(|name| *name != "null").cloned().collect();
        if types.len() == 1 {
            schema["type"] = types.remove(0);
        }
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    schema
}

fn possible_errors(entry: &RegisteredOperation) -> Vec<&'static str> {
    let takes_input =
        entry.input.json.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    let names_something = entry.spec.names_something()
        || ["mailbox", "conversationId"]
            .iter()
            .any(|name| entry.input.json["properties"].get(name).is_some());
    let mut codes = Vec::new();
    if takes_input || entry.spec.method == Method::Post {
        codes.push("400");
    }
    codes.extend(["401", "403"]);
    if names_something {
        codes.push("404");
    }
    if entry.spec.method == Method::Post {
        codes.extend(["409", "413", "422"]);
    }
    codes.extend(["429", "500"]);
    codes
}

fn errors() -> Value {
    let table = [
        (
            "400",
            "Missing or disallowed input. The sentence names every problem, each as `field: what`, separated by semicolons.",
        ),
        ("401", "No key, or one that is wrong or revoked."),
        (
            "403",
            "The key lacks a scope (the sentence names it), the plan has no API, or the endpoint is for test keys.",
        ),
        ("404", "There is no such thing, or none that the key can see."),
        (
            "409",
            "Something prevents it, or it was already done with this `Idempotency-Key` and its answer is no longer kept.",
        ),
        ("413", "The whole body is too large."),
        ("422", "The `Idempotency-Key` was used for another request."),
        ("429", "Too many requests. `Retry-After` says when to come back."),
        ("500", "Something failed on our side. Try again shortly."),
    ];
    let mut responses = Map::new();
    for (code, about) in table {
        let mut response = json!({
            "description": about,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
        });
        if code == "429" {
            response["headers"] = json!({ "Retry-After": { "schema": { "type": "integer", "minimum": 1 } } });
        }
        responses.insert(code.into(), response);
    }
    Value::Object(responses)
}

/// The events a webhook can get, each with its data.
fn webhooks() -> Value {
    let mut webhooks = Map::new();
    for kind in Kind::ALL {
        let (name, mut data) = (kind.name(), schema_by(|generator| kind.schema(generator)));
        data["properties"]["summary"] = json!({ "type": "string", "maxLength": 200 });
        data["properties"]["url"] = json!({ "type": "string", "format": "uri" });
        if let Some(Value::Array(required)) = data.get_mut("required") {
            required.push(json!("summary"));
        }
        let envelope = json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "pattern": "^evt_[0-9a-z]+$" },
                "type": { "const": name },
                "version": { "const": rookery_core::events::envelope::VERSION },
                "created_at": { "type": "string", "format": "date-time" },
                "workspace": { "type": "string", "pattern": "^wsp_[0-9a-z]+$" },
                "livemode": { "type": "boolean" },
                "data": data,
            },
            "required": ["id", "type", "version", "created_at", "workspace", "livemode", "data"],
        });
        webhooks.insert(
            name.into(),
            json!({ "post": {
            "operationId": name.replace('.', "_"),
            "summary": kind.about(),
            "requestBody": { "required": true, "content": { "application/json": { "schema": envelope } } },
            "responses": { "2XX": { "description": "Delivered. Anything else is tried again." } },
        } }),
        );
    }
    Value::Object(webhooks)
}
