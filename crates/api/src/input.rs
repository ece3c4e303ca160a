//! Input validation: the published schema is the enforced schema (specification 7, 400).
//!
//! The query, body or tool arguments become one JSON object, which is validated against the schema that OpenAPI
//! and MCP publish. All problems are reported at once, each as `field: what`. Only valid input is deserialized.

use std::collections::HashSet;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, Validator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value, json};
use url::form_urlencoded;

use crate::dry_run;
use rookery_base::error::{Error, Problem, Result};

/// The name of the body itself in a problem. Not "body": that is a field of two operations.
const BODY: &str = "request body";
const MOST_PROBLEMS: usize = 50;
/// Pattern of a text that is not blank: one character that is neither white space nor control.
pub const NOT_BLANK: &str = r"[^\s\x00-\x1f\x7f-\x9f]";
const NUL: &str = r"\x00";

/// The input of a request, before validation.
pub enum Given<'a> {
    Query(&'a str),
    Body(&'a [u8]),
    Arguments(Map<String, Value>),
}

impl Given<'_> {
    /// The same with a JSON body parsed, if it is an object, so that it is parsed only once.
    pub fn taken_apart(self) -> Self {
        match self {
            Self::Body(body) => of_body(body).map_or(Self::Body(body), Self::Arguments),
            other => other,
        }
    }

    /// Whether the request is a dry run.
    pub fn is_dry_run(&self) -> bool {
        matches!(self, Self::Arguments(fields) if dry_run::is_asked(fields))
    }

    /// Whether the input asks to send. Read before validation, because the required scope depends on it.
    pub fn sending(&self) -> Sending {
        let said = match self {
            Self::Query(_) => return Sending::No,
            Self::Arguments(arguments) => arguments.get("send").cloned(),
            Self::Body(body) => match of_body(body) {
                Ok(mut fields) => fields.remove("send"),
                Err(_) => return Sending::Unclear,
            },
        };
        match said {
            None | Some(Value::Null | Value::Bool(false)) => Sending::No,
            Some(Value::Bool(true)) => Sending::Yes,
            Some(_) => Sending::Unclear,
        }
    }

    /// Whether it is a search for words (`q`).
    pub fn searches(&self) -> bool {
        match self {
            Self::Query(query) => {
                form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "q" && !value.is_empty())
            }
            Self::Arguments(fields) => fields.get("q").is_some_and(|q| q != "" && !q.is_null()),
            Self::Body(_) => false,
        }
    }
}

/// Whether the input asks for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Yes,
    No,
    Unclear,
}

/// An input's schema, published and enforced.
pub struct Schema {
    pub json: Value,
    validator: Validator,
}

type Check = fn(&Map<String, Value>) -> Vec<Problem>;

impl Schema {
    pub fn new(mut json: Value) -> Self {
        say_the_rest(&mut json);
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&json).expect("the schema of an input is a schema");
        Self { json, validator }
    }

    /// The input as the operation's type, or everything that is wrong with it.
    pub fn read<T: DeserializeOwned>(&self, given: Given<'_>, check: Check) -> Result<T> {
        let mut problems = Vec::new();
        let mut fields = match given {
            Given::Query(query) => self.of_query(query, &mut problems),
            Given::Body(body) => of_body(body)?,
            Given::Arguments(arguments) => arguments,
        };
        if self.property(dry_run::FIELD).is_some() {
            problems.extend(dry_run::misspelt(&fields));
        }
        fields.retain(|name, value| self.property(name).is_some() && !value.is_null());
        fields.values_mut().for_each(settle);
        problems.extend(check(&fields));
        let input = Value::Object(fields);
        problems.extend(self.validator.iter_errors(&input).map(|error| self.problem(&error)));
        if !problems.is_empty() {
            return Err(Error::Problems(self.in_order(problems)));
        }
        serde_json::from_value(input).map_err(|_| Error::problem(BODY, "cannot be read"))
    }

    /// Query parameters are strings; those of integer type must be plain digits. An empty value counts as absent.
    fn of_query(&self, query: &str, problems: &mut Vec<Problem>) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut seen = HashSet::new();
        for (name, text) in form_urlencoded::parse(query.as_bytes()) {
            let Some(property) = self.property(&name) else { continue };
            if !seen.insert(name.clone().into_owned()) {
                problems.push(Problem { field: name.into_owned(), what: "is given more than once".into() });
                continue;
            }
            if text.is_empty() {
                continue;
            }
            let digits = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
            let value = match text.parse::<i64>() {
                Ok(number) if digits && takes_integers(property) => Value::from(number),
                _ => Value::from(text.into_owned()),
            };
            fields.insert(name.into_owned(), value);
        }
        fields
    }

    fn property(&self, name: &str) -> Option<&Value> {
        self.json.get("properties")?.get(name)
    }

    fn problem(&self, error: &jsonschema::ValidationError<'_>) -> Problem {
        let mut field = written(error.instance_path());
        if let ValidationErrorKind::Required { property } = error.kind() {
            let name = property.as_str().unwrap_or_default();
            field = if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") };
        }
        let keyword = error.schema_path().as_str();
        let around = keyword.rsplit_once('/').and_then(|(parent, _)| self.json.pointer(parent));
        Problem { field, what: sentence(error.kind(), around) }
    }

    /// One problem for each field, in the order of the schema's fields.
    fn in_order(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let mut seen = HashSet::new();
        let mut problems: Vec<Problem> =
            problems.into_iter().filter(|problem| seen.insert(problem.field.clone())).collect();
        problems.sort_by_cached_key(|problem| self.place(&problem.field));
        problems.truncate(MOST_PROBLEMS);
        problems
    }

    /// Sort key of a field path such as `documents[2].label`: the position of each name in the schema, and the
    /// index of each item.
    fn place(&self, field: &str) -> Vec<Option<usize>> {
        let mut schema = &self.json;
        let mut step = |part: &str| match part.strip_suffix(']') {
            Some(number) => {
                schema = &schema["items"];
                number.parse().ok()
            }
            None => {
                let place = schema["properties"].as_object()?.keys().position(|name| name == part);
                schema = &schema["properties"][part];
                place
            }
        };
        field.split(['.', '[']).map(&mut step).collect()
    }
}

fn of_body(body: &[u8]) -> Result<Map<String, Value>> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Error::problem(BODY, "must be a JSON object")),
        Err(_) => Err(Error::problem(BODY, "is not valid JSON")),
    }
}

fn takes_integers(property: &Value) -> bool {
    property.get("type").is_some_and(|kind| names_type(kind, "integer"))
}

/// Adds the rules that hold for every input, so that no field has to repeat them: an optional field may be null,
/// which is the same as leaving it out, and no text contains U+0000, which PostgreSQL cannot store.
fn say_the_rest(schema: &mut Value) {
    let Value::Object(rules) = schema else { return };
    if rules.get("type").is_some_and(|kind| names_type(kind, "string")) && !rules.contains_key("enum") {
        rules.insert("not".into(), json!({ "type": "string", "pattern": NUL }));
    }
    if let Some(items) = rules.get_mut("items") {
        say_the_rest(items);
    }
    let required: Vec<Value> = rules.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = rules.get_mut("properties") else { return };
    for (name, property) in properties.iter_mut() {
        say_the_rest(property);
        if !required.iter().any(|required| required == name) {
            allow_null(property);
        }
    }
}

fn allow_null(schema: &mut Value) {
    if let Some(kind @ Value::String(_)) = schema.get_mut("type") {
        *kind = json!([kind, "null"]);
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
}

/// Whether a schema's `type`, a name or a list of names, has this one.
fn names_type(kind: &Value, name: &str) -> bool {
    match kind {
        Value::Array(names) => names.iter().any(|one| one == name),
        one => one == name,
    }
}

/// Normalizes nested values: null fields are dropped, and a float without a fraction (5.0) becomes an integer.
fn settle(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(settle);
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() < 9e15
            {
                *number = Number::from(float as i64);
            }
        }
        _ => {}
    }
}

/// `documents[2].label`
fn written(location: &Location) -> String {
    let mut text = String::new();
    for segment in location {
        match segment {
            LocationSegment::Property(name) if text.is_empty() => text.push_str(&name),
            LocationSegment::Property(name) => {
                text.push('.');
                text.push_str(&name);
            }
            LocationSegment::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// The sentence for one validation error. `around` is the schema that holds the violated keyword; its `x-says`
/// takes precedence over a generic sentence, because a regular expression does not help the reader.
fn sentence(kind: &ValidationErrorKind, around: Option<&Value>) -> String {
    use ValidationErrorKind as Kind;
    let says = around.and_then(|schema| schema.get("x-says")).and_then(Value::as_str);
    match kind {
        Kind::Required { .. } => "is required".into(),
        Kind::Type { kind } => must_be(kind, around),
        Kind::Minimum { .. } | Kind::Maximum { .. } => whole_number(around),
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let names: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
            format!("must be one of {}", names.join(", "))
        }
        Kind::MaxLength { limit } => format!("must be at most {limit} characters"),
        Kind::MinLength { .. } => says.unwrap_or("must not be empty").into(),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::MinItems { .. } => "needs at least one item".into(),
        Kind::Not { .. } => "must not contain U+0000".into(),
        Kind::Pattern { pattern } if pattern == NOT_BLANK => "must not be blank".into(),
        Kind::Format { format } if format == "date" => "must be a date such as 2031-05-09".into(),
        Kind::Pattern { .. } => says.unwrap_or("has the wrong form").into(),
        _ => says.unwrap_or("is not allowed").into(),
    }
}

fn must_be(kind: &TypeKind, around: Option<&Value>) -> String {
    // The type of an optional field is a list that includes null: report the other type.
    let expected = match kind {
        TypeKind::Single(expected) => Some(*expected),
        TypeKind::Multiple(expected) => expected.iter().find(|one| *one != JsonType::Null),
    };
    match expected {
        Some(JsonType::String) => "must be a string".into(),
        Some(JsonType::Boolean) => "must be true or false".into(),
        Some(JsonType::Integer) => whole_number(around),
        Some(JsonType::Number) => "must be a number".into(),
        Some(JsonType::Array) => "must be a list".into(),
        _ => "must be an object".into(),
    }
}

fn whole_number(around: Option<&Value>) -> String {
    let bound = |name| around.and_then(|schema| schema.get(name)).and_then(Value::as_i64);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!("must be a whole number from {least} to {most}"),
        _ => "must be a whole number".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    fn schema() -> Schema {
        Schema::new(json!({
            "type": "object",
            "properties": {
                "body": { "type": "string", "maxLength": 5, "pattern": NOT_BLANK },
                "send": { "type": "boolean" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
                "name": { "type": ["string", "null"] },
                "view": { "type": "string", "enum": ["open", "closed"] },
                "documents": { "type": "array", "maxItems": 2, "items": {
                    "type": "object",
                    "properties": { "label": { "type": "string", "maxLength": 3 } },
                    "required": ["label"] } },
            },
            "required": ["body"],
        }))
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read matters here")]
    struct SampleInput {
        body: String,
        limit: Option<u32>,
    }

    fn problems(given: Given<'_>) -> String {
        schema().read::<SampleInput>(given, |_| Vec::new()).unwrap_err().sentence()
    }

    #[test]
    fn every_problem_is_told_at_once_in_the_order_of_the_fields() {
        let body =
            json!({ "documents": [{ "label": "ok" }, { "label": "long" }], "send": "true", "view": "x" });
        let problems = problems(Given::Body(body.to_string().as_bytes()));
        insta::assert_snapshot!(problems, @"body: is required; send: must be true or false; view: must be one of open, closed; documents[1].label: must be at most 3 characters");
    }

    #[test]
    fn nothing_is_coerced_and_no_problem_holds_a_semicolon() {
        let body = json!({ "body": 5, "limit": "5", "name": 5, "documents": {} });
        let problems = problems(Given::Body(body.to_string().as_bytes()));
        insta::assert_snapshot!(problems, @"body: must be a string; limit: must be a whole number from 1 to 100; name: must be a string; documents: must be a list");
    }

    #[test]
    fn a_query_takes_digits_and_refuses_repeats() {
        assert!(
            schema()
                .read::<SampleInput>(Given::Query("body=a&limit=7&view=&other=1"), |_| Vec::new())
                .is_ok()
        );
        let problems = problems(Given::Query("body=a&limit=2.5&view=open&view=open"));
        insta::assert_snapshot!(problems, @"limit: must be a whole number from 1 to 100; view: is given more than once");
    }

    #[test]
    fn null_is_absent_and_blank_is_missing() {
        assert!(
            schema()
                .read::<SampleInput>(Given::Body(br#"{"body":"a","limit":null}"#), |_| Vec::new())
                .is_ok()
        );
        assert_eq!(problems(Given::Body(br#"{"body":null}"#)), "body: is required");
        assert_eq!(problems(Given::Body(br#"{"body":" \n"}"#)), "body: must not be blank");
        assert_eq!(problems(Given::Body(b"{\"body\":\"a\\u0000\"}")), "body: must not contain U+0000");
    }

    #[test]
    fn a_body_that_is_no_object_is_named_as_such() {
        assert_eq!(problems(Given::Body(b"{")), "request body: is not valid JSON");
        assert_eq!(problems(Given::Body(b"[]")), "request body: must be a JSON object");
        assert_eq!(problems(Given::Body(b"{\"body\":\"\\ud800\"}")), "request body: is not valid JSON");
        assert_eq!(problems(Given::Body(b"")), "body: is required");
    }

    #[test]
    fn a_length_counts_characters_and_not_bytes() {
        let five = json!({ "body": "🐦🐦🐦🐦🐦" }).to_string();
        assert!(schema().read::<SampleInput>(Given::Body(five.as_bytes()), |_| Vec::new()).is_ok());
        let six = json!({ "body": "🐦🐦🐦🐦🐦🐦" }).to_string();
        assert_eq!(problems(Given::Body(six.as_bytes())), "body: must be at most 5 characters");
    }
}
