//! One document whole: what it says, where each value was read, what people set, and the beginning of its text.
//! It is found by the query that knows what somebody can see.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::documents::library::NO_DOCUMENT;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentId};
use rookery_core::workspace::access::Actor;
use rookery_reading::whole::ValueSource;

#[derive(Debug)]
pub struct WholeDocument {
    pub id: DocumentId,
    pub title: String,
    pub filename: String,
    pub kind: Option<String>,
    pub fields: Value,
    pub conversation_id: Option<ConversationId>,
    pub created_at: DateTime<Utc>,
    pub size: i64,
    pub blob: String,
    /// Nothing until it was read.
    pub reading: Option<StoredReading>,
    /// It is about to be read.
    pub waits: bool,
    pub set: Vec<Correction>,
}

#[derive(Debug)]
pub struct StoredReading {
    pub at: DateTime<Utc>,
    pub by: String,
    pub milliseconds: i32,
    /// `read`, `no-text`, `encrypted`, `unreadable`, `failed`
    pub state: String,
    pub pages: i32,
    pub sources: Map<String, Value>,
    pub text: String,
}

#[derive(Debug)]
pub struct Correction {
    pub field: String,
    pub was: Value,
    pub by: String,
    pub at: DateTime<Utc>,
}

impl WholeDocument {
    /// Where a value was read; not of one that a person set.
    pub fn source(&self, field: &str) -> Option<ValueSource> {
        let source = self.reading.as_ref()?.sources.get(field)?;
        serde_json::from_value(source.clone()).ok()
    }

    pub fn correction(&self, field: &str) -> Option<&Correction> {
        self.set.iter().find(|set| set.field == field)
    }
}

/// Hidden, foreign and unknown ones are the same error.
pub async fn find(conn: &mut PgConnection, actor: &Actor, id: DocumentId) -> Result<WholeDocument> {
    let row = sqlx::query!(
        r#"select title, filename, kind, fields, conversation_id as "conversation_id: ConversationId", created_at, size,
               blob, read_at as "read_at?", read_by as "read_by?", milliseconds as "milliseconds?", state as "state?",
               pages as "pages?", sources as "sources?", text as "text?",
               exists (select from unread_documents note
                   where note.workspace_id = documents.workspace_id and note.document_id = documents.id) as "waits!"
           from documents left join document_readings reading
               on reading.workspace_id = documents.workspace_id and reading.document_id = documents.id
           where documents.workspace_id = $1 and documents.id = $2 and audience = any($3)"#,
        actor.workspace.0,
        id.0,
        &actor.audiences()
    )
    .fetch_optional(&mut *conn)
    .await?
    .ok_or(NO_DOCUMENT)?;
    let set = sqlx::query_as!(
        Correction,
        r#"select field, was, people.name as by, set_at as at
           from document_corrections own join people
               on people.workspace_id = own.workspace_id and people.id = own.set_by
           where own.workspace_id = $1 and own.document_id = $2"#,
        actor.workspace.0,
        id.0
    )
    .fetch_all(conn)
    .await?;
    let reading = row.read_at.map(|at| StoredReading {
        at,
        by: row.read_by.unwrap_or_default(),
        milliseconds: row.milliseconds.unwrap_or_default(),
        state: row.state.unwrap_or_default(),
        pages: row.pages.unwrap_or_default(),
        sources: row.sources.and_then(|sources| sources.as_object().cloned()).unwrap_or_default(),
        text: row.text.unwrap_or_default(),
    });
    Ok(WholeDocument {
        id,
        title: row.title,
        filename: row.filename,
        kind: row.kind,
        fields: row.fields,
        conversation_id: row.conversation_id,
        created_at: row.created_at,
        size: row.size,
        blob: row.blob,
        reading,
        waits: row.waits,
        set,
    })
}

/// The document that was filed just before or after this one, as the library lists them.
pub async fn beside(
    conn: &mut PgConnection,
    actor: &Actor,
    whole: &WholeDocument,
) -> Result<(Option<DocumentId>, Option<DocumentId>)> {
    let newer = sqlx::query_scalar!(
        r#"select found.id as "id!: DocumentId" from unnest($2::bigint[]) own (audience) cross join lateral (
               select id, created_at from documents
               where workspace_id = $1 and audience = own.audience and (created_at, id) > ($3, $4)
               order by created_at, id limit 1) found
           order by created_at, id limit 1"#,
        actor.workspace.0,
        &actor.audiences(),
        whole.created_at,
        whole.id.0
    )
    .fetch_optional(&mut *conn)
    .await?;
    let older = sqlx::query_scalar!(
        r#"select found.id as "id!: DocumentId" from unnest($2::bigint[]) own (audience) cross join lateral (
               select id, created_at from documents
               where workspace_id = $1 and audience = own.audience and (created_at, id) < ($3, $4)
               order by created_at desc, id desc limit 1) found
           order by created_at desc, id desc limit 1"#,
        actor.workspace.0,
        &actor.audiences(),
        whole.created_at,
        whole.id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok((newer, older))
}
