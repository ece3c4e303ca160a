//! `GET /documents` (specification 4.12): the document library.
//! A key finds the documents of the inboxes it can see; its file is at `/documents/{id}/content`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cursor::{self, ListQuery};
use crate::operation::{Call, Nothing, Operation, Spec};
use crate::operations::list_conversations::default_limit;
use crate::wire::Timestamp;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentId};
use rookery_base::store::db::Reading;
use rookery_product::documents::library::{self, DocumentCursor, DocumentFilter};
use rookery_reading::kinds::DocumentClass;

pub struct SearchDocuments;

#[derive(Deserialize, JsonSchema)]
pub struct SearchDocumentsInput {
    /// Words that must all be part of the title, the file name or a field.
    #[schemars(length(max = 200))]
    q: Option<String>,
    #[schemars(with = "Option<DocumentKind>")]
    kind: Option<DocumentClass>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Of an earlier answer with the same parameters: the list goes on where that one ended. Only `limit` may differ.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

/// The schema of a [`DocumentClass`], which knows nothing of schemas itself.
struct DocumentKind;

impl JsonSchema for DocumentKind {
    fn schema_name() -> Cow<'static, str> {
        "DocumentKind".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": DocumentClass::ALL })
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSummary {
    id: DocumentId,
    /// A readable title, or the file name.
    title: String,
    filename: String,
    /// Null until the reading helper has named it.
    kind: Option<String>,
    /// What the reading helper found. Every key may be missing.
    #[schemars(with = "DocumentFields")]
    fields: Value,
    conversation_id: Option<ConversationId>,
    created_at: Timestamp,
}

/// The published form of `fields`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

impl Operation for SearchDocuments {
    const SPEC: Spec = Spec {
        title: "Search documents",
        about: "Documents this key can see, newest first. Attachments of incoming mail are filed here.",
        ..Spec::read("search_documents", "/documents")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = SearchDocumentsInput;
    type Output = Vec<DocumentSummary>;

    async fn run(
        call: &mut Call<'_, Reading>,
        _: Nothing,
        input: SearchDocumentsInput,
    ) -> Result<Vec<DocumentSummary>> {
        let kind = input.kind.map(|kind| kind.as_str().to_owned());
        let query = input.q.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let asked = ListQuery::new(Self::SPEC.name, (query, &kind))?;
        let before = asked.place(input.cursor.as_deref())?;
        // One more tells whether there is a next page.
        let filter = DocumentFilter { words: input.q, kind, before, limit: input.limit + 1 };
        let mut found = library::search(&mut call.db, call.actor, &filter).await?;
        if found.len() as i64 > input.limit {
            found.truncate(input.limit as usize);
            call.next =
                found.last().map(|last| asked.cursor(DocumentCursor { at: last.created_at, id: last.id }));
        }
        let document = |document: library::LibraryDocument| DocumentSummary {
            id: document.id,
            title: document.title,
            filename: document.filename,
            kind: document.kind,
            fields: document.fields,
            conversation_id: document.conversation_id,
            created_at: Timestamp(document.created_at),
        };
        Ok(found.into_iter().map(document).collect())
    }
}
