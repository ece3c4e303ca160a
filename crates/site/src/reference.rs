//! The reference of the API, made from the OpenAPI document: every operation with what it takes and answers, and every
//! schema. It is the twin of the interactive one, for readers without script and for programs (`/docs/api.md`).

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::examples;
use crate::markdown::{PagePart, slug};
use crate::schemas::{self, ComponentSchema, Field, SchemaType, text};

pub struct Reference {
    /// Where the API is: `https://desk.example/api/v1`.
    pub base: String,
    pub about: String,
    pub groups: Vec<Group>,
    pub events: Vec<Event>,
    pub errors: Vec<(String, String)>,
    pub schemas: Vec<ComponentSchema>,
}

pub struct Group {
    pub name: String,
    /// The end of its address.
    pub anchor: String,
    pub about: String,
    pub operations: Vec<Operation>,
}

pub struct Operation {
    pub id: String,
    pub method: String,
    pub path: String,
    pub title: String,
    pub about: String,
    pub parameters: Vec<Field>,
    pub body: Vec<Field>,
    /// The schema of the body, when it has a name.
    pub body_name: Option<String>,
    /// Statuses of success, each with what is answered.
    pub answers: Vec<(String, SchemaType)>,
    /// The statuses of errors.
    pub errors: Vec<String>,
    pub example: Option<&'static str>,
    /// How the id in its path looks, `cnv_…`; empty when it has none.
    pub id_like: String,
    pub curl: String,
}

/// A kind of event that webhooks get.
pub struct Event {
    pub name: String,
    pub about: String,
    pub schema: Option<String>,
}

const NO_OPERATION: &str = "other";

pub fn read(document: &Value) -> Reference {
    let base = text(&document["servers"][0]["url"]);
    let mut groups: Vec<Group> = each(&document["tags"])
        .map(|tag| Group {
            anchor: slug(&text(&tag["name"])),
            name: text(&tag["name"]),
            about: text(&tag["description"]),
            operations: Vec::new(),
        })
        .collect();
    for (path, methods) in members(&document["paths"]) {
        for (method, described) in members(methods) {
            let operation = operation(&base, path, method, described);
            let tag = each(&described["tags"]).map(text).next().unwrap_or_else(|| NO_OPERATION.to_owned());
            if let Some(group) = groups.iter_mut().find(|group| group.name == tag) {
                group.operations.push(operation);
            }
        }
    }
    let events = members(&document["webhooks"]).map(|(name, described)| Event {
        name: name.clone(),
        about: text(&described["post"]["summary"]),
        schema: schemas::name_of(&described["post"]["requestBody"]["content"]["application/json"]["schema"]),
    });
    let components = &document["components"];
    Reference {
        about: text(&document["info"]["description"]),
        groups,
        events: events.collect(),
        errors: members(&components["responses"])
            .map(|(status, described)| (status.clone(), text(&described["description"])))
            .collect(),
        schemas: members(&components["schemas"]).map(|(name, schema)| schemas::named(name, schema)).collect(),
        base,
    }
}

fn operation(base: &str, path: &str, method: &str, described: &Value) -> Operation {
    let id = text(&described["operationId"]);
    let parameters = each(&described["parameters"]).map(|parameter| Field {
        name: text(&parameter["name"]),
        kind: schemas::kind(&parameter["schema"]),
        is_required: parameter["required"] == true,
        about: text(&parameter["description"]),
    });
    let body = &described["requestBody"]["content"]["application/json"]["schema"];
    let (good, bad): (Vec<_>, Vec<_>) =
        members(&described["responses"]).partition(|(status, _)| status.starts_with('2'));
    let answered = |described: &Value| match described.pointer("/content/application~1octet-stream") {
        Some(_) => SchemaType { before: "the file".to_owned(), ..SchemaType::default() },
        None => schemas::kind(&described["content"]["application/json"]["schema"]),
    };
    let ids = each(&described["parameters"]).find(|parameter| parameter["in"] == "path");
    let id_like = ids.map_or_else(String::new, |parameter| id_like(&text(&parameter["schema"]["pattern"])));
    let example = examples::body(&id);
    let method = method.to_uppercase();
    Operation {
        curl: curl(&method, base, &path.replace("{id}", &id_like), example),
        method,
        path: path.to_owned(),
        title: text(&described["summary"]),
        about: text(&described["description"]),
        parameters: parameters.collect(),
        body: schemas::fields(body),
        body_name: schemas::name_of(body),
        answers: good.into_iter().map(|(status, described)| (status.clone(), answered(described))).collect(),
        errors: bad.into_iter().map(|(status, _)| status.clone()).collect(),
        example,
        id_like,
        id,
    }
}

/// How an id looks that has this pattern: `^doc_[0-9a-z]+$` is `doc_…`.
fn id_like(pattern: &str) -> String {
    let (start, _) = pattern.trim_start_matches('^').split_once('[').unwrap_or_default();
    format!("{start}…")
}

/// A line to paste into a terminal that has the key in `KEY`.
fn curl(method: &str, base: &str, path: &str, example: Option<&str>) -> String {
    let mut line = format!("curl {base}{path} \\\n  -H \"Authorization: Bearer $KEY\"");
    if let Some(example) = example.filter(|_| method == "POST") {
        let _ = write!(line, " \\\n  -d '{example}'");
    }
    line
}

impl Reference {
    /// Bodies are shown with their fields, so the schema that names them is not looked up by a reader.
    pub fn with_bodies(mut self) -> Self {
        let schemas = std::mem::take(&mut self.schemas);
        for operation in self.groups.iter_mut().flat_map(|group| &mut group.operations) {
            let named = schemas.iter().find(|named| Some(&named.name) == operation.body_name.as_ref());
            if let Some(named) = named.filter(|_| operation.body.is_empty()) {
                operation.body = named.fields.iter().map(Field::again).collect();
            }
        }
        self.schemas = schemas;
        self
    }

    /// What the search looks through.
    pub fn parts(&self) -> Vec<PagePart> {
        let operations = self.groups.iter().flat_map(|group| &group.operations).map(|operation| {
            let names = operation.parameters.iter().chain(&operation.body);
            let names: Vec<String> = names.map(|field| format!("{} {}", field.name, field.about)).collect();
            PagePart {
                id: operation.id.clone(),
                title: operation.title.clone(),
                text: format!(
                    "{} {} {} {} {}",
                    operation.method,
                    operation.path,
                    operation.id,
                    operation.about,
                    names.join(" ")
                ),
            }
        });
        let schemas = self.schemas.iter().map(|schema| {
            let names: Vec<&str> = schema.fields.iter().map(|field| field.name.as_str()).collect();
            PagePart {
                id: format!("schema-{}", schema.name),
                title: schema.name.clone(),
                text: format!("{} {} {}", schema.name, schema.about, names.join(" ")),
            }
        });
        operations.chain(schemas).collect()
    }

    /// The twin for programs that read.
    pub fn markdown(&self) -> String {
        let mut page = format!(
            "# API reference\n\n{}\n\nREST is at `{}`. Send `Authorization: Bearer rk_…`. The exact document is `/openapi.json`.\n",
            self.about, self.base
        );
        for group in &self.groups {
            let _ = write!(page, "\n## {}\n\n{}\n", group.name, group.about);
            for operation in &group.operations {
                operation.write(&mut page);
            }
        }
        page.push_str("\n## Events\n\n| event | when | schema |\n|---|---|---|\n");
        for event in &self.events {
            let schema = event.schema.as_ref().map_or_else(String::new, |name| format!("`{name}`"));
            let _ = writeln!(page, "| `{}` | {} | {schema} |", event.name, event.about);
        }
        page.push_str("\n## Errors\n\n| status | meaning |\n|---|---|\n");
        for (status, about) in &self.errors {
            let _ = writeln!(page, "| {status} | {about} |");
        }
        page.push_str("\n## Schemas\n");
        for schema in &self.schemas {
            let _ = write!(page, "\n### {}\n", schema.name);
            if !schema.about.is_empty() {
                let _ = write!(page, "\n{}\n", schema.about);
            }
            if let Some(kind) = &schema.kind {
                let _ = write!(page, "\n{}\n", kind.said());
            }
            for choice in &schema.choices {
                let _ = write!(page, "\n- {}", choice.said());
            }
            write_fields(&mut page, &schema.fields);
        }
        page
    }
}

impl Operation {
    fn write(&self, page: &mut String) {
        let _ = write!(page, "\n### {} {}\n\n{}. {}\n", self.method, self.path, self.title, self.about);
        write_fields(page, &self.parameters);
        write_fields(page, &self.body);
        let answers: Vec<String> =
            self.answers.iter().map(|(status, kind)| format!("{status}: {}", kind.said())).collect();
        let _ = write!(
            page,
            "\nAnswers {}. Errors: {}.\n\n    {}\n",
            answers.join("; "),
            self.errors.join(", "),
            self.curl.replace('\n', "\n    ")
        );
    }
}

impl Field {
    fn again(&self) -> Self {
        Self {
            name: self.name.clone(),
            kind: self.kind.clone(),
            is_required: self.is_required,
            about: self.about.clone(),
        }
    }
}

fn write_fields(page: &mut String, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    page.push_str("\n| field | what | |\n|---|---|---|\n");
    for field in fields {
        let must = if field.is_required { " (required)" } else { "" };
        let _ = writeln!(
            page,
            "| `{}`{must} | {} | {} |",
            field.name,
            field.kind.said(),
            field.about.replace('|', "\\|")
        );
    }
}

fn each(of: &Value) -> impl Iterator<Item = &Value> {
    of.as_array().into_iter().flatten()
}

fn members(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_api::dry_run::FIELD;
    use rookery_api::openapi;
    use rookery_api::registry::OPERATIONS;
    use rookery_base::breaking_changes::LIST;

    fn reference() -> Reference {
        read(&openapi::describe(&"https://desk.example".parse().unwrap(), LIST)).with_bodies()
    }

    #[test]
    fn every_operation_event_and_schema_is_in_the_reference() {
        let reference = reference();
        let told: Vec<&Operation> = reference.groups.iter().flat_map(|group| &group.operations).collect();
        assert_eq!(told.len(), OPERATIONS.len());
        assert!(reference.groups.iter().all(|group| !group.operations.is_empty()));
        assert_eq!(reference.events.len(), 10);
        let page = reference.markdown();
        for entry in OPERATIONS.iter() {
            assert!(page.contains(&format!("### {} {}\n", entry.spec.method.as_str(), entry.spec.path)));
        }
        let download = told.iter().find(|one| one.id == "get_document_content").unwrap();
        assert!(download.curl.contains("/documents/doc_…/content "), "{}", download.curl);
        assert_eq!(download.answers[0].1.said(), "the file");
        for schema in &reference.schemas {
            let says = schema.fields.len() + schema.choices.len() + usize::from(schema.kind.is_some());
            assert!(says > 0, "{}", schema.name);
        }
    }

    #[test]
    fn every_body_is_shown_with_its_fields() {
        let reference = reference();
        let posts =
            reference.groups.iter().flat_map(|group| &group.operations).filter(|one| one.method == "POST");
        for post in posts {
            // Without fields of its own there is still a body to send, or it would be a GET.
            let has_own = post.body.iter().any(|field| field.name != FIELD);
            let shown = post.example.is_some_and(|example| has_own == (example != "{}"));
            assert!(shown, "{}", post.id);
            assert!(post.curl.contains("-d '"), "{}", post.curl);
        }
    }
}
