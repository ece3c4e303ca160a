//! `GET /documents/{id}`: one document, with its fields, where they were read, and the beginning of its text.
//! What is in it was written outside the team; its file is at `/documents/{id}/content`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::search_documents::DocumentFields;
use crate::operation::{Call, Operation, PathSubject, Spec};
use crate::operations::NoInput;
use crate::wire::Timestamp;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentId};
use rookery_base::store::db::Reading;
use rookery_product::documents::whole::WholeDocument;

pub struct GetDocument;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDetails {
    id: DocumentId,
    /// A readable title, or the file name.
    title: String,
    filename: String,
    /// Null until it was read.
    kind: Option<String>,
    /// What was read or set by people. Every key may be missing.
    #[schemars(with = "DocumentFields")]
    fields: Value,
    conversation_id: Option<ConversationId>,
    created_at: Timestamp,
    /// Bytes of the file.
    size: i64,
    /// Null until it was read.
    reading: Option<DocumentReading>,
    /// Names of fields that a person set.
    corrected: Vec<String>,
    /// The beginning of the file's text; empty when it has none or was not read.
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DocumentReading {
    at: Timestamp,
    /// `read`, `no-text` (a scan or a picture), `encrypted`, `unreadable` or `failed`. New values may be added.
    state: String,
    /// Who says so.
    by: String,
    pages: i32,
    /// Where each value was found.
    sources: Vec<FieldSource>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FieldSource {
    field: String,
    page: Option<u32>,
    line: Option<u32>,
    /// The words of that line.
    text: Option<String>,
}

impl Operation for GetDocument {
    const SPEC: Spec = Spec {
        title: "Read a document",
        about: "One document: its fields with the lines they were read from, and the beginning of its text.",
        names: PathSubject::Document,
        ..Spec::read("get_document", "/documents/{id}")
    };
    type Db = Reading;
    type Target = WholeDocument;
    type Input = NoInput;
    type Output = DocumentDetails;

    async fn run(_: &mut Call<'_, Reading>, whole: WholeDocument, _: NoInput) -> Result<DocumentDetails> {
        let sources = ["vendor", "amount", "currency", "date", "dueDate", "reference"];
        let sources = sources.iter().filter_map(|field| {
            let source = whole.source(field)?;
            Some(FieldSource {
                field: (*field).to_owned(),
                page: source.page,
                line: source.line,
                text: source.text,
            })
        });
        let sources = sources.collect();
        let (reading, text) = match whole.reading {
            None => (None, String::new()),
            Some(reading) => {
                let read = DocumentReading {
                    at: Timestamp(reading.at),
                    state: reading.state,
                    by: reading.by,
                    pages: reading.pages,
                    sources,
                };
                (Some(read), reading.text)
            }
        };
        Ok(DocumentDetails {
            id: whole.id,
            title: whole.title,
            filename: whole.filename,
            kind: whole.kind,
            fields: whole.fields,
            conversation_id: whole.conversation_id,
            created_at: Timestamp(whole.created_at),
            size: whole.size,
            reading,
            corrected: whole.set.into_iter().map(|set| set.field).collect(),
            text,
        })
    }
}
