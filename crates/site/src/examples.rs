//! What the reference shows as an example of each body. They are sent as they are by "Try it", and a test holds each to
//! the schema that the server enforces.

/// By operation, in the order of the registry.
const BODIES: &[(&str, &str)] = &[
    ("add_note", r#"{ "body": "Called her back." }"#),
    ("set_status", r#"{ "status": "waiting" }"#),
    ("tag_conversation", r#"{ "add": ["vip"], "remove": [] }"#),
    ("assign_conversation", r#"{ "to": "me" }"#),
    (
        "change_conversations",
        r#"{ "ids": ["cnv_0000000000001", "cnv_0000000000002"], "status": "closed", "add": ["done"] }"#,
    ),
    (
        "reply",
        r#"{ "body": "It left today.", "summary": "Says that order 42 is on its way", "attachments": [{ "filename": "label.txt", "contentType": "text/plain", "content": "T3JkZXIgNDI=" }] }"#,
    ),
    (
        "request_documents",
        r#"{ "documents": [{ "label": "Passport" }], "message": "We need one more thing." }"#,
    ),
    ("offer_times", r#"{ "bookingTypeId": "bkt_0000000000001" }"#),
    (
        "record_sent",
        r#"{ "messageId": "a1b2c3@app.example", "reference": "INV-1042", "to": ["ada@customer.test"], "subject": "Your invoice" }"#,
    ),
    ("create_webhook", r#"{ "url": "https://app.example/hooks", "events": ["client.replied"] }"#),
    ("pause_webhook", "{}"),
    ("resume_webhook", "{}"),
    ("rotate_webhook", "{}"),
    ("test_webhook", "{}"),
    ("redeliver", r#"{ "eventId": "evt_0000000000001" }"#),
    (
        "simulate_inbound",
        r#"{ "from": "ada@customer.test", "name": "Ada", "subject": "My order", "text": "Where is order 42?" }"#,
    ),
    ("simulate_decision", r#"{ "decision": "ask-again", "item": 1, "reason": "unreadable" }"#),
    ("simulate_approval", r#"{ "body": "It left today." }"#),
    ("advance_sandbox", r#"{ "seconds": 604800 }"#),
];

/// The example body of an operation.
pub fn body(operation: &str) -> Option<&'static str> {
    BODIES.iter().find(|(name, _)| *name == operation).map(|(_, body)| *body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_api::operation::Method;
    use rookery_api::registry::OPERATIONS;

    #[test]
    fn every_body_has_an_example_that_the_server_takes() {
        for entry in OPERATIONS.iter().filter(|entry| entry.spec.method == Method::Post) {
            let name = entry.spec.name;
            let example = body(name).unwrap_or_else(|| panic!("{name} has no example"));
            let example: serde_json::Value = serde_json::from_str(example).unwrap();
            let schema = jsonschema::validator_for(&entry.input.json).unwrap();
            let problems: Vec<_> = schema.iter_errors(&example).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{name}: {problems:?}");
        }
    }
}
