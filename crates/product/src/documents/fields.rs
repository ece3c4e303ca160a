//! The fields of a document (specification 2.7): their names, and what people set is laid over what was read.
//! The text that a search looks in is made of them here, so that it always agrees.

use serde_json::{Map, Value};

use rookery_base::ids::WorkspaceId;
use rookery_base::search_terms;

/// What a person can set: kind and title, and the fields.
pub const NAMES: [&str; 8] =
    ["kind", "title", "vendor", "amount", "currency", "date", "dueDate", "reference"];

/// What a document says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentStatement {
    pub kind: Option<String>,
    pub title: String,
    pub fields: Map<String, Value>,
}

/// A person's value, by the name of its field.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    pub field: String,
    pub value: Value,
}

impl DocumentStatement {
    /// With a value of a person in it. A title is never empty: without one it is the file's name.
    pub fn set(&mut self, set: &Set, filename: &str) {
        match set.field.as_str() {
            "kind" => self.kind = set.value.as_str().map(str::to_owned),
            "title" => {
                let title = set.value.as_str().filter(|title| !title.is_empty());
                self.title = title.unwrap_or(filename).to_owned();
            }
            name => {
                self.fields.insert(name.to_owned(), set.value.clone());
            }
        }
    }

    pub fn value(&self, name: &str) -> Value {
        match name {
            "kind" => self.kind.clone().map_or(Value::Null, Value::String),
            "title" => Value::String(self.title.clone()),
            name => self.fields.get(name).cloned().unwrap_or_default(),
        }
    }

    /// What a search looks in, and the hashes of its pieces. Amounts have two decimals, as people type them.
    pub fn searched(&self, workspace: WorkspaceId, filename: &str) -> (String, Vec<i64>) {
        let mut text = self.title.clone();
        if self.title != filename {
            text = format!("{text} {filename}");
        }
        for value in self.fields.values() {
            let written = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => format!("{:.2}", number.as_f64().unwrap_or_default()),
                _ => continue,
            };
            text = format!("{text} {written}");
        }
        let searched = search_terms::fold(&text);
        let pieces = search_terms::pieces(workspace, &searched);
        (searched, pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_person_set_lies_over_what_was_read() {
        let Value::Object(fields) = json!({ "vendor": "Read Ltd", "amount": 5.5, "date": null }) else {
            panic!()
        };
        let mut told = DocumentStatement { kind: Some("other".into()), title: "Paper".into(), fields };
        for (field, value) in [("kind", json!("invoice")), ("vendor", json!(null)), ("title", json!(""))] {
            told.set(&Set { field: field.into(), value }, "scan.pdf");
        }
        assert_eq!((told.kind.as_deref(), told.title.as_str()), (Some("invoice"), "scan.pdf"));
        assert_eq!(told.value("vendor"), Value::Null);
        assert_eq!(told.searched(WorkspaceId(1), "scan.pdf").0, "scan.pdf 5.50");
    }
}
