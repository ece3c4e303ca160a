//! Names for the schemas of the OpenAPI document. Operations state their schemas whole, because those are enforced and
//! given to tools; generators of clients want a type once, under one name. So the document is made whole first, and every
//! place that holds a schema of the lists below then refers to it.
//!
//! A name is a promise: clients have a type by it. The lists only grow.

use serde_json::{Map, Value, json};

/// The name, the operation, and the path to the schema in its answer: fields, `[]` for items, a number for an alternative.
const ANSWERS: &[(&str, &str, &str)] = &[
    ("Me", "me", ""),
    ("Agent", "me", "agent"),
    ("Scope", "me", "scopes/[]"),
    ("Limits", "me", "limits"),
    ("AgentDay", "get_agent_day", ""),
    ("AgentCall", "get_agent_day", "calls/[]"),
    ("ConversationSummary", "list_conversations", "[]"),
    ("Status", "list_conversations", "[]/status"),
    ("Contact", "list_conversations", "[]/contact"),
    ("Assignee", "list_conversations", "[]/assignee"),
    ("Conversation", "get_conversation", ""),
    ("TimelineItem", "get_conversation", "timeline/[]"),
    ("Message", "get_conversation", "timeline/[]/0"),
    ("Note", "get_conversation", "timeline/[]/1"),
    ("TimelineEvent", "get_conversation", "timeline/[]/2"),
    ("Sender", "get_conversation", "timeline/[]/0/from"),
    ("Attachment", "get_conversation", "timeline/[]/0/attachments/[]"),
    ("Team", "get_conversation", "team"),
    ("TeamMember", "get_conversation", "team/people/[]"),
    ("Away", "get_conversation", "team/people/[]/away"),
    ("AppSent", "get_conversation", "appSent"),
    ("Done", "add_note", ""),
    ("ChangedConversations", "change_conversations", ""),
    ("ChangeResult", "change_conversations", "results/[]"),
    ("Written", "reply", ""),
    ("KnownContact", "list_contacts", "[]"),
    ("ContactWithConversations", "get_contact", ""),
    ("Mailbox", "list_mailboxes", "[]"),
    ("Tag", "list_tags", "[]"),
    ("BookingType", "list_booking_types", "[]"),
    ("BookingHost", "list_booking_types", "[]/hosts/[]"),
    ("UpcomingBooking", "list_bookings", "[]"),
    ("OfferedTimes", "offer_times", ""),
    ("DocumentSummary", "search_documents", "[]"),
    ("DocumentFields", "search_documents", "[]/fields"),
    ("Document", "get_document", ""),
    ("DocumentReading", "get_document", "reading"),
    ("FieldSource", "get_document", "reading/sources/[]"),
    ("DocumentDownload", "get_document_download", ""),
    ("Simulated", "simulate_inbound", ""),
    ("DecidedRequest", "simulate_decision", ""),
    ("RequestedDocument", "simulate_decision", "documents/[]"),
    ("ApprovedDraft", "simulate_approval", ""),
    ("AdvancedSandbox", "advance_sandbox", ""),
    ("SandboxEvents", "follow_sandbox", ""),
    ("EventPage", "list_events", ""),
    ("Webhook", "list_webhooks", "[]"),
    ("WebhookWithSecret", "create_webhook", ""),
    ("SentTest", "test_webhook", ""),
    ("Delivery", "list_deliveries", "[]"),
    ("DeliveryTry", "list_deliveries", "[]/tries/[]"),
];

/// The same for request bodies.
const BODIES: &[(&str, &str, &str)] = &[
    ("NewNote", "add_note", ""),
    ("NewStatus", "set_status", ""),
    ("TagChange", "tag_conversation", ""),
    ("NewAssignee", "assign_conversation", ""),
    ("ConversationChanges", "change_conversations", ""),
    ("NewReply", "reply", ""),
    ("AskedDocument", "reply", "documents/[]"),
    ("AttachedFile", "reply", "attachments/[]"),
    ("NewDocumentRequest", "request_documents", ""),
    ("NewOffer", "offer_times", ""),
    ("SentMail", "record_sent", ""),
    ("SimulatedMail", "simulate_inbound", ""),
    ("SimulatedFile", "simulate_inbound", "attachments/[]"),
    ("SimulatedDecision", "simulate_decision", ""),
    ("SimulatedApproval", "simulate_approval", ""),
    ("PassedTime", "advance_sandbox", ""),
    ("NewWebhook", "create_webhook", ""),
    ("EventToRedeliver", "redeliver", ""),
];

/// The same for the data of events. The whole body of an event is named after its kind, with `Event` at the end.
const EVENTS: &[(&str, &str, &str)] = &[
    ("AskCompleted", "ask.completed", ""),
    ("ClientReplied", "client.replied", ""),
    ("ConversationAssigned", "conversation.assigned", ""),
    ("EventAssignee", "conversation.assigned", "assignee"),
    ("Doer", "conversation.assigned", "assigned_by"),
    ("TurnChanged", "turn.changed", ""),
    ("Turn", "turn.changed", "turn"),
    ("DraftApproved", "draft.approved", ""),
    ("Drafter", "draft.approved", "drafted_by"),
    ("MessageSent", "message.sent", ""),
    ("Author", "message.sent", "author"),
    ("Booking", "booking.created", ""),
    ("ScoutHeld", "scout.held", ""),
    ("WebhookTest", "webhook.test", ""),
];

/// A schema with its name: complete, and without the null alternative.
struct NamedSchema {
    name: String,
    schema: Value,
    /// The same without descriptions, for comparing.
    plain: Value,
}

/// Moves every schema that has a name to the components, and refers to it from where it stood.
pub(super) fn give(document: &mut Value) {
    let named = find(document);
    for part in ["paths", "webhooks"] {
        refer(&mut document[part], &named, None);
    }
    let mut kinds = Vec::new();
    for kind in document["webhooks"].as_object().into_iter().flat_map(Map::keys) {
        kinds.push((kind.clone(), path_of(&event_name(kind))));
    }
    for own in &named {
        let mut schema = own.schema.clone();
        refer(&mut schema, &named, Some(&own.name));
        document["components"]["schemas"][&own.name] = schema;
    }
    document["components"]["schemas"]["Event"] = json!({
        "type": "object",
        "description": "What a webhook is sent.",
        "oneOf": kinds.iter().map(|(_, path)| json!({ "$ref": path })).collect::<Vec<_>>(),
        "discriminator": {
            "propertyName": "type",
            "mapping": kinds.iter().map(|(kind, path)| (kind.clone(), json!(path))).collect::<Map<_, _>>(),
        },
    });
}

fn find(document: &Value) -> Vec<NamedSchema> {
    let mut named = Vec::new();
    let mut add = |name: &str, root: Option<&Value>, steps: &str| {
        let found = root.and_then(|root| walk(root, steps));
        debug_assert!(found.is_some(), "{name} is nowhere: {steps}");
        let Some((mut schema, is_nullable)) = found.as_ref().map(bare) else { return };
        // What is said of a place where nothing may stand is said of the place.
        if is_nullable && let Some(fields) = schema.as_object_mut() {
            fields.shift_remove("description");
        }
        named.push(NamedSchema { name: name.to_owned(), plain: unsaid(&schema), schema });
    };
    for (name, operation, steps) in ANSWERS {
        add(name, answer(document, operation), steps);
    }
    for (name, operation, steps) in BODIES {
        add(
            name,
            find_operation(document, operation).and_then(|operation| json_of(&operation["requestBody"])),
            steps,
        );
    }
    let body = |kind: &str| json_of(&document["webhooks"][kind]["post"]["requestBody"]);
    for (name, kind, steps) in EVENTS {
        add(name, body(kind).map(|body| &body["properties"]["data"]), steps);
    }
    for kind in document["webhooks"].as_object().into_iter().flat_map(Map::keys) {
        add(&event_name(kind), body(kind), "");
    }
    named
}

fn find_operation<'d>(document: &'d Value, operation: &str) -> Option<&'d Value> {
    let paths = document["paths"].as_object()?.values();
    let mut all = paths.filter_map(Value::as_object).flat_map(Map::values);
    all.find(|described| described["operationId"] == operation)
}

fn answer<'d>(document: &'d Value, operation: &str) -> Option<&'d Value> {
    let responses = find_operation(document, operation)?["responses"].as_object()?;
    json_of(responses.iter().find(|(status, _)| status.starts_with('2'))?.1)
}

fn json_of(described: &Value) -> Option<&Value> {
    described.pointer("/content/application~1json/schema")
}

fn walk(root: &Value, steps: &str) -> Option<Value> {
    let mut schema = root.clone();
    for step in steps.split('/').filter(|step| !step.is_empty()) {
        let (within, _) = bare(&schema);
        schema = match step.parse::<usize>() {
            Ok(choice) => within["oneOf"].get(choice)?.clone(),
            Err(_) if step == "[]" => within.get("items")?.clone(),
            Err(_) => within["properties"].get(step)?.clone(),
        };
    }
    Some(schema)
}

/// The schema without the null alternative, and whether it had one.
fn bare(schema: &Value) -> (Value, bool) {
    let null = json!({ "type": "null" });
    if let Some([choice, other]) = schema["anyOf"].as_array().map(Vec::as_slice)
        && *other == null
    {
        let mut choice = choice.clone();
        if let Some(about) = schema.get("description") {
            choice["description"] = about.clone();
        }
        return (choice, true);
    }
    let kinds = schema["type"].as_array().map(Vec::as_slice).unwrap_or_default();
    let others: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    let mut without = schema.clone();
    match others.as_slice() {
        [only] if kinds.len() == 2 => {
            without["type"] = (*only).clone();
            if let Some(options) = without.get_mut("enum").and_then(Value::as_array_mut) {
                options.retain(|option| !option.is_null());
            }
            (without, true)
        }
        _ => (without, false),
    }
}

/// Puts a reference wherever a named schema stands, but for the one that is being written down itself.
fn refer(value: &mut Value, named: &[NamedSchema], itself: Option<&str>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, named, None)),
        Value::Object(fields) => {
            if ["type", "oneOf", "anyOf"].iter().any(|keyword| fields.contains_key(*keyword))
                && let Some(reference) = reference(&Value::Object(fields.clone()), named, itself)
            {
                *value = reference;
                return;
            }
            fields.values_mut().for_each(|field| refer(field, named, None));
        }
        _ => {}
    }
}

fn reference(schema: &Value, named: &[NamedSchema], itself: Option<&str>) -> Option<Value> {
    let (alone, is_nullable) = bare(schema);
    let plain = unsaid(&alone);
    let found = named.iter().find(|named| Some(named.name.as_str()) != itself && named.plain == plain)?;
    let to = json!({ "$ref": path_of(&found.name) });
    let mut reference = if is_nullable { json!({ "anyOf": [to, { "type": "null" }] }) } else { to };
    let about = schema.get("description");
    if let Some(about) = about.filter(|_| about != found.schema.get("description")) {
        reference["description"] = about.clone();
    }
    Some(reference)
}

/// The schema without descriptions, which may differ from place to place.
fn unsaid(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if schema.get("description").is_some_and(Value::is_string)
        && let Some(fields) = schema.as_object_mut()
    {
        fields.shift_remove("description");
    }
    schema
}

fn path_of(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

/// `client.replied` is `ClientRepliedEvent`.
fn event_name(kind: &str) -> String {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{}{rest}", first.to_uppercase())
    };
    format!("{}Event", kind.split('.').map(capital).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_null_refers_to_the_same_name() {
        let thing =
            json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] });
        let mut nullable = thing.clone();
        nullable["type"] = json!(["object", "null"]);
        nullable["description"] = json!("Nobody when null.");
        let named = [NamedSchema { name: "Thing".into(), schema: thing.clone(), plain: thing.clone() }];
        let mut places =
            json!({ "properties": { "one": thing, "other": nullable, "third": { "type": "string" } } });
        refer(&mut places, &named, None);
        assert_eq!(
            places["properties"],
            json!({
                "one": { "$ref": "#/components/schemas/Thing" },
                "other": {
                    "anyOf": [{ "$ref": "#/components/schemas/Thing" }, { "type": "null" }],
                    "description": "Nobody when null.",
                },
                "third": { "type": "string" },
            })
        );
    }

    #[test]
    fn a_kind_is_named_after_its_words() {
        assert_eq!(event_name("client.replied"), "ClientRepliedEvent");
    }
}
