//! JSON Schemas in words: what a field is, what it may hold, and whether it has to be there. Only what our own document
//! uses is known here.

use serde_json::{Map, Value};

/// What a value is: words, the schema it is named by, and what is said behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaType {
    pub before: String,
    pub name: Option<String>,
    pub after: String,
}

pub struct Field {
    pub name: String,
    pub kind: SchemaType,
    pub is_required: bool,
    pub about: String,
}

/// A schema of the components.
pub struct ComponentSchema {
    pub name: String,
    pub about: String,
    pub fields: Vec<Field>,
    /// One of these, when it has no fields of its own.
    pub choices: Vec<SchemaType>,
    /// What it is, when it is no object.
    pub kind: Option<SchemaType>,
}

pub fn named(name: &str, schema: &Value) -> ComponentSchema {
    let choices = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fields = fields(schema);
    let kind = (fields.is_empty() && choices.is_empty()).then(|| kind(schema));
    ComponentSchema {
        name: name.to_owned(),
        about: text(&schema["description"]),
        choices: choices.iter().map(self::kind).collect(),
        fields,
        kind,
    }
}

/// The fields of an object, in their order.
pub fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object();
    let field = |(name, schema): (&String, &Value)| Field {
        name: name.clone(),
        kind: kind(schema),
        is_required: required.contains(&name.as_str()),
        about: text(&schema["description"]),
    };
    properties.into_iter().flat_map(Map::iter).map(field).collect()
}

pub fn kind(schema: &Value) -> SchemaType {
    if let Some(name) = name_of(schema) {
        return SchemaType { name: Some(name), ..SchemaType::default() };
    }
    if let Some([choice, _]) = schema["anyOf"].as_array().map(Vec::as_slice) {
        let mut kind = kind(choice);
        kind.after.push_str(" or null");
        return kind;
    }
    if let Some(only) = schema.get("const") {
        return SchemaType { before: only.to_string(), ..SchemaType::default() };
    }
    let (types, is_nullable) = types(schema);
    let mut kind = match types.as_str() {
        "array" => {
            let items = kind(&schema["items"]);
            SchemaType { before: format!("list of {}", items.before), ..items }
        }
        "string" if schema["format"].is_string() => {
            SchemaType { before: text(&schema["format"]), ..SchemaType::default() }
        }
        "object" if schema["properties"]["type"]["const"].is_string() => {
            let which = &schema["properties"]["type"]["const"];
            SchemaType { before: format!("object whose type is {which}"), ..SchemaType::default() }
        }
        other => SchemaType { before: other.to_owned(), ..SchemaType::default() },
    };
    if let Some(options) = schema["enum"].as_array() {
        let options: Vec<String> = options.iter().filter(|one| !one.is_null()).map(text).collect();
        kind.before = format!("one of {}", options.join(", "));
    }
    kind.after.push_str(&limits(schema));
    if is_nullable {
        kind.after.push_str(" or null");
    }
    kind
}

/// The kind's one name, and whether it may be null.
fn types(schema: &Value) -> (String, bool) {
    match &schema["type"] {
        Value::String(one) => (one.clone(), false),
        Value::Array(several) => {
            let others: Vec<String> = several.iter().filter(|one| *one != "null").map(text).collect();
            (others.join(" or "), several.len() > others.len())
        }
        _ => ("anything".to_owned(), false),
    }
}

fn limits(schema: &Value) -> String {
    let of = |keyword: &str| schema[keyword].as_u64();
    let mut said = String::new();
    if let Some(most) = of("maxLength") {
        said.push_str(&format!(", at most {most} characters"));
    }
    if let Some(most) = of("maxItems") {
        said.push_str(&format!(", at most {most}"));
    }
    if let (Some(least), Some(most)) = (of("minimum"), of("maximum")) {
        said.push_str(&format!(", {least} to {most}"));
    }
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        said.push_str(&format!(", {default} when left out"));
    }
    said
}

/// The name that a reference has.
pub fn name_of(schema: &Value) -> Option<String> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/").map(str::to_owned)
}

pub fn text(value: &Value) -> String {
    value.as_str().map_or_else(String::new, |text| text.replace('\n', " "))
}

impl SchemaType {
    /// As one line of text, a name in backticks.
    pub fn said(&self) -> String {
        match &self.name {
            Some(name) => format!("{}`{name}`{}", self.before, self.after),
            None => format!("{}{}", self.before, self.after),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_said_in_words() {
        let thing = json!({ "$ref": "#/components/schemas/Thing" });
        for (schema, said) in [
            (json!({ "type": "string", "maxLength": 40 }), "string, at most 40 characters"),
            (json!({ "type": ["string", "null"] }), "string or null"),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 25 }),
                "integer, 1 to 100, 25 when left out",
            ),
            (json!({ "type": "array", "items": thing, "maxItems": 10 }), "list of `Thing`, at most 10"),
            (json!({ "anyOf": [thing, { "type": "null" }] }), "`Thing` or null"),
            (json!({ "type": "string", "enum": ["open", "closed"] }), "one of open, closed"),
            (json!({ "type": "string", "format": "date-time" }), "date-time"),
            (json!({ "type": "string", "const": "message" }), "\"message\""),
            (
                json!({ "type": "object", "properties": { "type": { "const": "user" } } }),
                "object whose type is \"user\"",
            ),
        ] {
            assert_eq!(kind(&schema).said(), said);
        }
    }
}
