//! What v1 of the API promised stays: tests/it/door/openapi-v1.json is the description as it was first released, and the
//! present one may only add to it. docs: CHANGELOG.md names the stages.

use std::collections::BTreeSet;

use rookery_api::openapi;
use rookery_api::registry::OPERATIONS;
use rookery_base::breaking_changes::LIST;
use rookery_core::events::event::Kind;
use serde_json::{Value, json};

use super::openapi::whole;

/// As first released. It is never changed, but for what was announced six months before, or is a matter of safety.
const FIRST: &str = include_str!("openapi-v1.json");

/// Whether a client writes it or reads it: what may change is not the same.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    In,
    Out,
}

struct Compared<'d> {
    first: &'d Value,
    now: &'d Value,
    problems: Vec<String>,
}

impl<'d> Compared<'d> {
    fn documents(first: &'d Value, now: &'d Value) -> Vec<String> {
        let mut this = Self { first, now, problems: Vec::new() };
        for (path, methods) in members(&first["paths"]) {
            for (method, operation) in members(methods) {
                let place = format!("{} {path}", method.to_uppercase());
                match now["paths"][path].get(method) {
                    Some(today) => this.operation(&place, operation, today),
                    None => this.problems.push(format!("{place} is gone")),
                }
            }
        }
        for (kind, told) in members(&first["webhooks"]) {
            match now["webhooks"].get(kind) {
                Some(today) => {
                    let body = "/post/requestBody/content/application~1json/schema";
                    let (was, is) = (told.pointer(body).unwrap(), today.pointer(body).unwrap());
                    this.schema(kind, Way::Out, was, is, 0);
                }
                None => this.problems.push(format!("the event {kind} is gone")),
            }
        }
        this.problems
    }

    fn operation(&mut self, place: &str, first: &'d Value, now: &'d Value) {
        if first["operationId"] != now["operationId"] {
            self.problems.push(format!("{place} is called otherwise"));
        }
        let parameters = |of: &'d Value| of["parameters"].as_array().into_iter().flatten();
        let same = |one: &Value, other: &Value| one["name"] == other["name"] && one["in"] == other["in"];
        for parameter in parameters(first) {
            let place = format!("{place} ?{}", text(&parameter["name"]));
            match parameters(now).find(|other| same(parameter, other)) {
                Some(today) => {
                    if today["required"] == true && parameter["required"] != true {
                        self.problems.push(format!("{place} is required now"));
                    }
                    self.schema(&place, Way::In, &parameter["schema"], &today["schema"], 0);
                }
                None => self.problems.push(format!("{place} is gone")),
            }
        }
        for parameter in parameters(now).filter(|one| one["required"] == true) {
            if !parameters(first).any(|other| same(parameter, other)) {
                self.problems.push(format!("{place} ?{} is new and required", text(&parameter["name"])));
            }
        }
        if now["requestBody"]["required"] == true && first["requestBody"]["required"] != true {
            self.problems.push(format!("{place} needs a body now"));
        }
        let body = |of: &'d Value| &of["content"]["application/json"]["schema"];
        self.schema(
            &format!("{place} body"),
            Way::In,
            body(&first["requestBody"]),
            body(&now["requestBody"]),
            0,
        );
        for (status, answer) in members(&first["responses"]) {
            match now["responses"].get(status) {
                Some(today) => {
                    let (answer, today) = (resolved(self.first, answer), resolved(self.now, today));
                    self.schema(&format!("{place} {status}"), Way::Out, body(answer), body(today), 0);
                }
                None => self.problems.push(format!("{place} {status} is gone")),
            }
        }
    }

    fn schema(&mut self, place: &str, way: Way, first: &'d Value, now: &'d Value, depth: usize) {
        let (first, now) = (resolved(self.first, first), resolved(self.now, now));
        if first.is_null() || depth > 12 {
            return;
        }
        let kinds = |of: &Value| -> BTreeSet<String> {
            let listed = of["type"].as_array().cloned().unwrap_or_else(|| vec![of["type"].clone()]);
            listed.iter().map(text).collect()
        };
        let (was, is) = (kinds(first), kinds(now));
        // What is taken may become more, what is given may become less; but for what may be nothing, which stays so.
        let fits = if way == Way::In { was.is_subset(&is) } else { was == is };
        if !fits {
            self.problems.push(format!("{place} is {is:?} and was {was:?}"));
        }
        if first["const"] != now["const"] {
            self.problems.push(format!("{place} is always {} and was {}", now["const"], first["const"]));
        }
        let values = |of: &'d Value| of["enum"].as_array().into_iter().flatten();
        if now.get("enum").is_some() && first.get("enum").is_none() {
            self.problems.push(format!("{place} takes only some values now"));
        }
        for value in values(first) {
            if now.get("enum").is_some() && !values(now).any(|other| other == value) {
                self.problems.push(format!("{place} lacks the value {value}"));
            }
        }
        if way == Way::In {
            for (limit, tightens) in [
                ("maxLength", -1.0),
                ("maxItems", -1.0),
                ("maximum", -1.0),
                ("minLength", 1.0),
                ("minItems", 1.0),
                ("minimum", 1.0),
            ] {
                let (was, is) = (first[limit].as_f64(), now[limit].as_f64());
                let tighter = match (was, is) {
                    (Some(was), Some(is)) => (is - was) * tightens > 0.0,
                    (None, Some(is)) => tightens < 0.0 || is > 0.0,
                    (_, None) => false,
                };
                if tighter {
                    self.problems.push(format!("{place} has a tighter {limit}"));
                }
            }
            // Nobody can tell whether one pattern takes all that another takes, so it may only go.
            for rule in ["pattern", "format", "not", "additionalProperties", "contentEncoding"] {
                if now.get(rule).is_some() && first.get(rule) != now.get(rule) {
                    self.problems.push(format!("{place} has another {rule}"));
                }
            }
        }
        let required = |of: &Value| -> BTreeSet<String> {
            of["required"].as_array().into_iter().flatten().map(text).collect()
        };
        let (must_have, must_now) = (required(first), required(now));
        let broken = if way == Way::In { &must_now - &must_have } else { &must_have - &must_now };
        for field in broken {
            let how = if way == Way::In { "is required now" } else { "is not always there any more" };
            self.problems.push(format!("{place}.{field} {how}"));
        }
        for (name, field) in members(&first["properties"]) {
            match now["properties"].get(name) {
                Some(today) => self.schema(&format!("{place}.{name}"), way, field, today, depth + 1),
                None => self.problems.push(format!("{place}.{name} is gone")),
            }
        }
        self.schema(&format!("{place}[]"), way, &first["items"], &now["items"], depth + 1);
        for choice in ["anyOf", "oneOf", "allOf"] {
            let each = |of: &'d Value| of[choice].as_array().map(Vec::as_slice).unwrap_or_default();
            if each(first).len() > each(now).len() {
                self.problems.push(format!("{place} has fewer choices"));
            }
            for (n, (was, is)) in each(first).iter().zip(each(now)).enumerate() {
                self.schema(&format!("{place}|{n}"), way, was, is, depth + 1);
            }
        }
    }
}

fn members(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flatten()
}

fn text(of: &Value) -> String {
    of.as_str().map_or_else(|| of.to_string(), str::to_owned)
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
        Some(pointer) => document.pointer(pointer).expect("a reference leads somewhere"),
        None => schema,
    }
}

fn first() -> Value {
    serde_json::from_str(FIRST).unwrap()
}

fn now() -> Value {
    openapi::describe(&"https://rookery.example".parse().unwrap(), LIST)
}

/// The names of schemas that clients have types by, as first given. Names are added, never taken away or given to
/// something else.
const NAMES: &[&str] = &[
    "AdvancedSandbox",
    "Agent",
    "AgentCall",
    "AgentDay",
    "AppSent",
    "ApprovedDraft",
    "AskCompleted",
    "AskCompletedEvent",
    "AskedDocument",
    "Assignee",
    "AttachedFile",
    "Attachment",
    "Author",
    "Away",
    "Booking",
    "BookingCancelledEvent",
    "BookingCreatedEvent",
    "BookingHost",
    "BookingType",
    "ChangeResult",
    "ChangedConversations",
    "ClientReplied",
    "ClientRepliedEvent",
    "Contact",
    "ContactWithConversations",
    "Conversation",
    "ConversationAssigned",
    "ConversationAssignedEvent",
    "ConversationChanges",
    "ConversationSummary",
    "DecidedRequest",
    "Delivery",
    "DeliveryTry",
    "Document",
    "DocumentDownload",
    "DocumentFields",
    "DocumentReading",
    "DocumentSummary",
    "Doer",
    "Done",
    "DraftApproved",
    "DraftApprovedEvent",
    "Drafter",
    "Error",
    "Event",
    "EventAssignee",
    "EventPage",
    "EventToRedeliver",
    "FieldSource",
    "KnownContact",
    "Limits",
    "Mailbox",
    "Me",
    "Message",
    "MessageSent",
    "MessageSentEvent",
    "NewAssignee",
    "NewDocumentRequest",
    "NewNote",
    "NewOffer",
    "NewReply",
    "NewStatus",
    "NewWebhook",
    "Note",
    "OfferedTimes",
    "PassedTime",
    "RequestedDocument",
    "SandboxEvents",
    "Scope",
    "ScoutHeld",
    "ScoutHeldEvent",
    "Sender",
    "SentMail",
    "SentTest",
    "Simulated",
    "SimulatedApproval",
    "SimulatedDecision",
    "SimulatedFile",
    "SimulatedMail",
    "Status",
    "Tag",
    "TagChange",
    "Team",
    "TeamMember",
    "TimelineEvent",
    "TimelineItem",
    "Turn",
    "TurnChanged",
    "TurnChangedEvent",
    "UpcomingBooking",
    "Webhook",
    "WebhookTest",
    "WebhookTestEvent",
    "WebhookWithSecret",
    "Written",
];

/// proves: VER-2, VER-3
#[test]
fn the_api_only_ever_adds_to_what_v1_first_was() {
    let (first, now) = (whole(&first()), whole(&now()));
    assert!(members(&first["paths"]).count() >= 12, "it is a whole description");
    let problems = Compared::documents(&first, &now);
    assert!(problems.is_empty(), "v1 broke:\n  {}", problems.join("\n  "));
}

/// A client that was generated has a type by each name, so a name that goes breaks it at its next build.
#[test]
fn every_schema_that_clients_share_keeps_its_name() {
    let now = now();
    let given: BTreeSet<&str> =
        members(&now["components"]["schemas"]).map(|(name, _)| name.as_str()).collect();
    let gone: Vec<_> = NAMES.iter().filter(|name| !given.contains(**name)).collect();
    assert_eq!(gone, [&""; 0], "schemas lost their names");
    let listed: BTreeSet<&str> = NAMES.iter().copied().collect();
    assert_eq!(given.difference(&listed).collect::<Vec<_>>(), [&""; 0], "a new name is listed here too");
    // A name that nothing refers to is no use.
    let text = now.to_string();
    for name in NAMES.iter().filter(|name| **name != "Event") {
        assert!(text.contains(&format!("\"#/components/schemas/{name}\"")), "{name}");
    }
    let conversation = "/paths/~1conversations~1{id}/get/responses/200/content/application~1json/schema";
    assert_eq!(now.pointer(conversation), Some(&json!({ "$ref": "#/components/schemas/Conversation" })));
}

/// proves: VER-4
#[test]
fn every_event_carries_its_own_version() {
    let now = whole(&now());
    for kind in Kind::ALL {
        let schema =
            &now["webhooks"][kind.name()]["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(schema["properties"]["version"], json!({ "const": 1 }), "{}", kind.name());
        assert!(schema["required"].as_array().unwrap().contains(&json!("version")), "{}", kind.name());
    }
    assert_eq!(members(&first()["webhooks"]).count(), 10, "the ten kinds of v1");
}

/// A comparison that finds nothing would prove nothing.
#[test]
fn what_would_break_a_client_is_found() {
    let first = first();
    let reply = "/paths/~1conversations~1{id}~1replies/post";
    let body = format!("{reply}/requestBody/content/application~1json/schema");
    let list = "/paths/~1conversations/get";
    let with = |pointer: &str, change: &dyn Fn(&mut Value)| {
        let mut now = first.clone();
        change(now.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")));
        Compared::documents(&first, &now)
    };
    let remove = |name: &'static str| {
        move |of: &mut Value| drop(of.as_object_mut().unwrap().remove(name).expect("it was there"))
    };
    let broken: Vec<(&str, Vec<String>)> = vec![
        ("a path", with("/paths", &remove("/tags"))),
        ("a name", with(reply, &|of| of["operationId"] = json!("answer"))),
        ("an event", with("/webhooks", &remove("turn.changed"))),
        (
            "a version",
            with(
                "/webhooks/turn.changed/post/requestBody/content/application~1json/schema/properties/version",
                &|of| of["const"] = json!(2),
            ),
        ),
        (
            "a field that is told",
            with(
                "/paths/~1me/get/responses/200/content/application~1json/schema/properties",
                &remove("scopes"),
            ),
        ),
        (
            "a field that was always told",
            with("/paths/~1me/get/responses/200/content/application~1json/schema", &|of| {
                of["required"] = json!(["agent"])
            }),
        ),
        ("an answer", with(&format!("{reply}/responses"), &remove("201"))),
        ("a field that is sent", with(&format!("{body}/properties"), &remove("summary"))),
        ("a required field", with(&body, &|of| of["required"] = json!(["body", "summary"]))),
        ("a limit", with(&format!("{body}/properties/body"), &|of| of["maxLength"] = json!(10))),
        ("a pattern", with(&format!("{body}/properties/summary"), &|of| of["pattern"] = json!("^x$"))),
        ("a type", with(&format!("{body}/properties/body"), &|of| of["type"] = json!("integer"))),
        (
            "a parameter",
            with(&format!("{list}/parameters"), &|of| drop(of.as_array_mut().unwrap().remove(0))),
        ),
        (
            "a required parameter",
            with(&format!("{list}/parameters"), &|of| {
                of.as_array_mut().unwrap().push(
            json!({ "name": "page", "in": "query", "required": true, "schema": { "type": "string" } }))
            }),
        ),
        (
            "a parameter's value",
            with(&format!("{list}/parameters"), &|of| {
                let values = of
                    .as_array_mut()
                    .unwrap()
                    .iter_mut()
                    .find_map(|one| one.pointer_mut("/schema/enum"))
                    .expect("an enum");
                values.as_array_mut().unwrap().pop();
            }),
        ),
    ];
    for (what, problems) in broken {
        assert!(!problems.is_empty(), "{what} can go unseen");
    }
    let more = with(reply, &|of| {
        of["responses"]["299"] = json!({ "description": "New." });
        of["parameters"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "name": "new", "in": "query", "schema": { "type": "string" } }));
    });
    assert_eq!(more, [""; 0], "what is added breaks nobody");
}

/// proves: VER-5
#[test]
fn the_changelog_lists_the_stages_of_v1() {
    let page = include_str!("../../../CHANGELOG.md");
    let stages = page.split("The stages of API v1").nth(1).expect("the stages have a list");
    let stages = stages.split("\n## ").next().unwrap_or_default();
    assert!(page.contains("at\nleast six months before") || page.contains("at least six months before"));
    for entry in OPERATIONS.iter() {
        let named = [entry.spec.name, entry.spec.path];
        assert!(named.iter().any(|name| stages.contains(name)), "no stage names {} {}", named[0], named[1]);
    }
    for word in [
        "webhooks",
        "sandbox",
        "OpenAPI",
        "`record`",
        "`reference`",
        "`appSent`",
        "`record_sent`",
        "`read`, `write`, `draft`, `send`",
    ] {
        assert!(stages.contains(word), "no stage names {word}");
    }
}
