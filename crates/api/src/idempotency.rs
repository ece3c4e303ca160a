//! `Idempotency-Key`: a POST that comes with one is carried out once, however often it comes in 24 hours, by REST or by MCP.
//! This is how the key is read, and what makes two requests the same; the memory is `store/answered.rs`.

use std::borrow::Cow;

use axum::http::HeaderMap;
use serde_json::{Map, Value};

use crate::input::Given;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::Sha256;

pub const HEADER: &str = "idempotency-key";
/// The header that marks an answer that was given before.
pub const REPLAYED: &str = "idempotency-replayed";
/// The same in `_meta` of a tool's call and of its result.
pub const KEY_IN_META: &str = "rookery/idempotencyKey";
pub const REPLAYED_IN_META: &str = "rookery/idempotencyReplayed";
pub const LONGEST: usize = 255;

/// The name that a client gives its request.
pub struct Key<'a>(Cow<'a, str>);

impl<'a> Key<'a> {
    pub fn of_headers(headers: &'a HeaderMap) -> Result<Option<Self>> {
        let mut given = headers.get_all(HEADER).iter();
        let Some(value) = given.next() else { return Ok(None) };
        if given.next().is_some() {
            return Err(wrong("is given more than once"));
        }
        let text = std::str::from_utf8(value.as_bytes()).map_err(|_| wrong("must be text in UTF-8"))?;
        Self::parse(text).map(Some)
    }

    pub fn of_meta(given: Option<&'a Value>) -> Result<Option<Self>> {
        match given {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Self::parse(text).map(Some),
            Some(_) => Err(wrong("must be a string")),
        }
    }

    fn parse(text: &'a str) -> Result<Self> {
        let text = text.trim();
        match text.chars().count() {
            0 => Err(wrong("must not be empty")),
            1..=LONGEST => Ok(Self(text.into())),
            _ => Err(wrong("must be at most 255 characters")),
        }
    }

    /// A key that we make for a request to which the client gave none.
    pub fn own(text: String) -> Key<'static> {
        Key(Cow::Owned(text))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn into_owned(self) -> Key<'static> {
        Key(Cow::Owned(self.0.into_owned()))
    }
}

fn wrong(what: &str) -> Error {
    Error::problem("Idempotency-Key", what)
}

/// A hash that is equal for equal requests: same operation, same id in the path, same input. The order of fields does not
/// matter, REST and MCP count alike, and a field that is null equals one that is left out.
pub fn hash(operation: &str, id: Option<&str>, given: &Given<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [operation, id.unwrap_or_default()] {
        hash.update(part);
        hash.update([0]);
    }
    match given {
        Given::Query(query) => hash.update(query),
        Given::Arguments(fields) => object(&mut hash, fields),
        // What cannot be read is refused later, and a refusal is not kept.
        Given::Body(body) if body.trim_ascii().is_empty() => object(&mut hash, &Map::new()),
        Given::Body(body) => match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => object(&mut hash, &fields),
            _ => hash.update(body),
        },
    }
    hash.finish()
}

fn object(hash: &mut Sha256, fields: &Map<String, Value>) {
    let mut names: Vec<&String> =
        fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect();
    names.sort_unstable();
    hash.update("{");
    for name in names {
        text(hash, name);
        value(hash, &fields[name]);
    }
    hash.update("}");
}

fn value(hash: &mut Sha256, given: &Value) {
    match given {
        Value::Object(fields) => object(hash, fields),
        Value::Array(items) => {
            hash.update("[");
            items.iter().for_each(|item| value(hash, item));
            hash.update("]");
        }
        Value::String(words) => text(hash, words),
        // 5 and 5.0 are the same to the schema.
        other => {
            let written = other.to_string();
            hash.update(format!("#{};", written.strip_suffix(".0").unwrap_or(&written)));
        }
    }
}

/// Hashes a text with its length before it, so that two texts never look like one.
fn text(hash: &mut Sha256, words: &str) {
    hash.update(format!("\"{}:", words.len()));
    hash.update(words);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_body(body: &str) -> [u8; 32] {
        hash("reply", Some("cnv_1"), &Given::Body(body.as_bytes()))
    }

    #[test]
    fn the_same_request_is_the_same_by_whichever_door_and_in_whatever_order() {
        let first = of_body(r#"{"body":"Hi","send":true,"documents":[{"label":"a","required":false}]}"#);
        let arguments = json!({
            "documents": [{ "required": false, "description": null, "label": "a" }], "send": true, "summary": null, "body": "Hi",
        });
        let Value::Object(arguments) = arguments else { unreachable!() };
        assert_eq!(hash("reply", Some("cnv_1"), &Given::Arguments(arguments)), first);
        assert_eq!(of_body(""), of_body(" {} "));
        assert_eq!(of_body(r#"{"item":1}"#), of_body(r#"{"item":1.0}"#));
    }

    #[test]
    fn another_request_is_another() {
        let bodies = [
            r#"{}"#,
            r#"{"body":"Hi"}"#,
            r#"{"body":"hi"}"#,
            r#"{"body":"Hi","send":true}"#,
            r#"{"body":"Hi","send":false}"#,
            r#"{"body":"Hi","send":"true"}"#,
            r#"{"add":["a","b"]}"#,
            r#"{"add":["ab"]}"#,
            r#"{"add":["b","a"]}"#,
            r#"{"add":["a"],"remove":["b"]}"#,
            r#"{"item":1}"#,
            r#"{"item":1.5}"#,
            r#"{"#,
        ];
        let all: std::collections::BTreeSet<_> = bodies.iter().map(|body| of_body(body)).collect();
        assert_eq!(all.len(), bodies.len());
        let body = Given::Body(b"{}");
        assert_ne!(hash("reply", Some("cnv_1"), &body), hash("reply", Some("cnv_2"), &body));
        assert_ne!(hash("reply", Some("cnv_1"), &body), hash("add_note", Some("cnv_1"), &body));
    }

    #[test]
    fn a_key_has_1_to_255_characters() {
        let key = |text: &str| Key::of_meta(Some(&json!(text))).map(|key| key.unwrap().text().to_owned());
        assert_eq!(key(" a b ").unwrap(), "a b");
        assert_eq!(key(&"é".repeat(255)).unwrap().chars().count(), 255);
        assert_eq!(
            key(&"é".repeat(256)).unwrap_err().sentence(),
            "Idempotency-Key: must be at most 255 characters"
        );
        assert_eq!(key("  ").unwrap_err().sentence(), "Idempotency-Key: must not be empty");
        assert!(
            Key::of_meta(Some(&json!(7))).is_err() && Key::of_meta(Some(&Value::Null)).unwrap().is_none()
        );
    }
}
