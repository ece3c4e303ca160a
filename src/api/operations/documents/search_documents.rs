//! `GET /documents` (specification 4.12): the document library.
//! A key finds the documents of the inboxes it can see; its file is at `/documents/{id}/content`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::cursor::{self, Asked};
use crate::api::operation::{Call, Nothing, Operation, Spec};
use crate::api::operations::list_conversations::default_limit;
use crate::api::wire::Timestamp;
use crate::documents::library::{self, Filter, Place};
use crate::error::Result;
use crate::ids::{ConversationId, DocumentId};
use crate::reading::kinds::Kind;
use crate::store::db::Reading;

pub struct SearchDocuments;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// Words that must all be part of the title, the file name or a field.
    #[schemars(length(max = 200))]
    q: Option<String>,
    kind: Option<Kind>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Of an earlier answer with the same parameters: the list goes on where that one ended. Only `limit` may differ.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "DocumentKind".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL })
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    id: DocumentId,
    /// A readable title, or the file name.
    title: String,
    filename: String,
    /// Null until the reading helper has named it.
    kind: Option<String>,
    /// What the reading helper found. Every key may be missing.
    #[schemars(with = "Fields")]
    fields: Value,
    conversation_id: Option<ConversationId>,
    created_at: Timestamp,
}

/// The published form of `fields`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fields {
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
    type Input = Input;
    type Output = Vec<Document>;

    async fn run(call: &mut Call<'_, Reading>, _: Nothing, input: Input) -> Result<Vec<Document>> {
        let kind = input.kind.map(|kind| kind.as_str().to_owned());
        let query = input.q.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let asked = Asked::new(Self::SPEC.name, (query, &kind))?;
        let before = asked.place(input.cursor.as_deref())?;
        // One more tells whether there is a next page.
        let filter = Filter { words: input.q, kind, before, limit: input.limit + 1 };
        let mut found = library::search(&mut call.db, call.actor, &filter).await?;
        if found.len() as i64 > input.limit {
            found.truncate(input.limit as usize);
            call.next = found.last().map(|last| asked.cursor(Place { at: last.created_at, id: last.id }));
        }
        let document = |document: library::Document| Document {
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
