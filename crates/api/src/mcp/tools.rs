//! The tools of the MCP door (specification 4.16): the operations the key's scopes allow, each
//! answering with exactly the REST text, as text and as structured content.
//! A failed tool is a result the model can read, `<code> <REST sentence>`; JSON-RPC errors are
//! for what is no tool call at all. What reading tools return is marked as untrusted, for clients and
//! in words for the model, because it holds text from outside.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InputRequiredResult, JsonObject,
    Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use super::asking::{self, Reached};
use super::caller::{Caller, describe_error, is_read, meta, tools};
use super::words::{UNTRUSTED, UNTRUSTED_ABOVE, UNTRUSTED_MARK};
use crate::cursor;
use crate::dry_run;
use crate::idempotency::{Key, REPLAYED_IN_META};
use crate::input::Given;
use crate::operation::Needs;
use crate::registry::{OperationAnswer, RegisteredOperation, Request};
use rookery_base::breaking_changes::{self, BreakingChange};
use rookery_base::error::{Error, Problem, Result as Answered};

const NEXT_CURSOR: &str = "nextCursor";

/// What a call leads to.
enum ToolOutcome {
    Done(OperationAnswer),
    /// The person has to be asked first.
    Asks(InputRequiredResult),
}

pub fn list(caller: &Caller) -> Vec<Tool> {
    let shown = tools().filter(|tool| tool.spec.needs.shown_to(&caller.actor));
    let changes = caller.app.breaking_changes;
    shown.map(|tool| describe(tool, breaking_changes::first(changes, tool.spec.name))).collect()
}

/// `can_ask`: the client can put a question to its person.
pub async fn call(
    caller: &Caller,
    request: CallToolRequestParams,
    key: Answered<Option<Key<'_>>>,
    can_ask: bool,
) -> Result<CallToolResponse, ErrorData> {
    let Some(tool) = tools().find(|tool| tool.spec.name == request.name) else {
        return Err(ErrorData::invalid_params("There is no such tool.", None));
    };
    let person = can_ask.then_some(Reached { state: request.request_state, said: request.input_responses });
    let work = run(caller, tool, request.arguments.unwrap_or_default(), key, person);
    let answered = match caller.carry_out("tool", tool, work).await {
        Ok(ToolOutcome::Asks(question)) => return Ok(question.into()),
        Ok(ToolOutcome::Done(answer)) => Ok(answer),
        Err(error) => Err(error),
    };
    Ok(result_of(answered, is_read(tool)).into())
}

/// Runs the operation behind a tool. What REST has in the path is the argument `id` here, or
/// `conversationId` or `documentId`, which models like to write.
async fn run(
    caller: &Caller,
    tool: &RegisteredOperation,
    mut arguments: JsonObject,
    mut key: Answered<Option<Key<'_>>>,
    person: Option<Reached>,
) -> Answered<ToolOutcome> {
    let mut id = None;
    if tool.spec.names_something() {
        let names = ["id", tool.spec.names.argument().1];
        let names = names.iter();
        let given = names.filter_map(|name| arguments.shift_remove(*name)).find(|given| !given.is_null());
        id = match given.unwrap_or_default() {
            Value::String(id) => Some(id),
            Value::Null => return Err(refuse_id(caller, tool, arguments, "is required")),
            _ => return Err(refuse_id(caller, tool, arguments, "must be a string")),
        };
    }
    if let Some(person) = person
        && let Some(id) = &id
        && tool.spec.needs == Needs::DraftOrSend
        && arguments.get(asking::SEND) == Some(&Value::Bool(true))
        // Nothing leaves by a dry run.
        && !dry_run::is_asked(&arguments)
    {
        let given = Given::Arguments(arguments.clone());
        tool.permit(&caller.actor, &given)?;
        let call = asking::Call { tool, id, arguments: &arguments, key: key? };
        match asking::decide(caller, call, &given, person).await? {
            asking::Decision::Ask(question) => return Ok(ToolOutcome::Asks(question)),
            asking::Decision::Go { send, once } => {
                arguments.insert(asking::SEND.into(), json!(send));
                key = Ok(once);
            }
        }
    }
    let conn = caller.app.connection_of(caller.actor.workspace).await?;
    let request = Request { id: id.as_deref(), given: Given::Arguments(arguments), key };
    tool.call(&caller.app, &caller.actor, conn, request).await.map(ToolOutcome::Done)
}

/// The error of a call without a usable id: the missing scope if there is one, else every problem at once.
fn refuse_id(caller: &Caller, tool: &RegisteredOperation, arguments: JsonObject, what: &str) -> Error {
    let given = Given::Arguments(arguments);
    if let Err(error) = tool.permit(&caller.actor, &given) {
        return error;
    }
    let mut problems = vec![Problem { field: "id".into(), what: what.into() }];
    if let Err(Error::Problems(more)) = tool.input.read::<Value>(given, tool.check) {
        problems.extend(more);
    }
    Error::Problems(problems)
}

fn describe(tool: &RegisteredOperation, ending: Option<&BreakingChange>) -> Tool {
    let spec = &tool.spec;
    let mut description = spec.about.to_owned();
    if let Some(change) = ending {
        description = format!("{description} {}", change.sentence());
    }
    if is_read(tool) {
        description = format!("{description} {UNTRUSTED}");
    }
    // No tool deletes. What one sets can be set back and the timeline tells what was before; mail that has left cannot.
    let annotations = ToolAnnotations::with_title(spec.title)
        .read_only(is_read(tool))
        .destructive(spec.irrevocable)
        .idempotent(spec.repeatable)
        .open_world(spec.reaches_out);
    let mut described = Tool::new(spec.name, description, input_schema(tool))
        .with_title(spec.title)
        .with_annotations(annotations);
    if let Value::Object(output) = &tool.output {
        let is_array = output.get("type").is_some_and(|name| name == "array");
        let mut schema = if is_array { wrap_schema(output.clone()) } else { output.clone() };
        if cursor::is_taken(&tool.input)
            && let Some(Value::Object(properties)) = schema.get_mut("properties")
        {
            let about =
                "Give it as `cursor`, with the same arguments, for what comes next. Left out at the end.";
            properties.insert(NEXT_CURSOR.into(), json!({ "type": "string", "description": about }));
        }
        described.output_schema = Some(Arc::new(schema));
    }
    described
}

/// The operation's own input, and the id where the path has one.
fn input_schema(tool: &RegisteredOperation) -> JsonObject {
    let mut schema = tool.input.json.clone();
    plain(&mut schema);
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    if tool.spec.names_something() {
        let id = json!({ "type": "string", "description": tool.spec.names.argument().0 });
        let mut properties = JsonObject::from_iter([("id".to_owned(), id)]);
        if let Some(Value::Object(fields)) = schema.get("properties") {
            properties.extend(fields.clone());
        }
        schema.insert("properties".into(), Value::Object(properties));
        let mut required = vec![json!("id")];
        if let Some(Value::Array(names)) = schema.get("required") {
            required.extend(names.clone());
        }
        schema.insert("required".into(), Value::Array(required));
    }
    schema
}

/// Removes keywords that do not help a model, or that some model providers refuse in a tool's schema.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(rules) => {
            rules.retain(|name, _| !["not", "oneOf", "x-says"].contains(&name.as_str()));
            rules.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// The schema of `{"items": [...]}` around an array's schema; `$defs` stay where `#/$defs` points.
fn wrap_schema(mut items: JsonObject) -> JsonObject {
    let mut schema = JsonObject::new();
    for shared in ["$schema", "$defs"] {
        if let Some(value) = items.shift_remove(shared) {
            schema.insert(shared.into(), value);
        }
    }
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), json!({ "items": items }));
    schema.insert("required".into(), json!(["items"]));
    schema
}

fn result_of(answered: Answered<OperationAnswer>, untrusted: bool) -> CallToolResult {
    let OperationAnswer { body: text, replayed, dry, next, .. } = match answered {
        Ok(answer) => answer,
        Err(error) => {
            let mut result = CallToolResult::error(vec![ContentBlock::text(describe_error(&error))]);
            result.meta = Some(meta("status", error.status()));
            return result;
        }
    };
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut content = vec![ContentBlock::text(text)];
    if let Some(cursor) = &next {
        content.push(ContentBlock::text(format!(
            "There is more: call again with the same arguments and cursor {cursor}"
        )));
    }
    if untrusted {
        content.push(ContentBlock::text(UNTRUSTED_ABOVE));
    }
    if dry {
        content.push(ContentBlock::text(dry_run::IN_WORDS));
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = match body {
        Value::Array(items) => Some(json!({ "items": items })),
        Value::Object(_) => Some(body),
        _ => None, // the protocol of 2025 knows objects only
    };
    if let (Some(next), Some(Value::Object(content))) = (next, &mut result.structured_content) {
        content.insert(NEXT_CURSOR.into(), json!(next));
    }
    for (name, holds) in [(UNTRUSTED_MARK, untrusted), (REPLAYED_IN_META, replayed), (dry_run::IN_META, dry)]
    {
        if holds {
            result.meta.get_or_insert_default().insert(name.into(), json!(true));
        }
    }
    result
}
