//! Search in the document library (specification 4.12): every word must be part of the title, the file name or a
//! field's value; newest first.
//!
//! Works like the search for conversations: a walk over the newest documents answers common words at once, and
//! words that it does not find are rare enough for the index of word pieces.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentId, NotAnId};
use rookery_base::search_terms;
use rookery_core::workspace::access::Actor;

pub const NO_DOCUMENT: Error = Error::Missing("No such document.");

/// Depth of the walks. A word with at most `HARDLY` hits in the first walk is looked up in the index.
const FIRST_WALK: i64 = 250;
const SECOND_WALK: i64 = 4_000;
const HARDLY: usize = 2;

#[derive(Clone, Debug)]
pub struct DocumentFilter {
    pub words: Option<String>,
    pub kind: Option<String>,
    /// Goes on behind this document.
    pub before: Option<DocumentCursor>,
    pub limit: i64,
}

/// The place of a document in the list. Written as microseconds and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentCursor {
    pub at: DateTime<Utc>,
    pub id: DocumentId,
}

impl fmt::Display for DocumentCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.timestamp_micros(), self.id)
    }
}

impl FromStr for DocumentCursor {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (at, id) = text.split_once('.').ok_or(NotAnId)?;
        let at = at.parse().ok().and_then(DateTime::from_timestamp_micros).ok_or(NotAnId)?;
        Ok(Self { at, id: id.parse()? })
    }
}

impl DocumentFilter {
    /// As the statements take it.
    fn place(&self) -> (Option<DateTime<Utc>>, Option<i64>) {
        self.before.map(|place| (place.at, place.id.0)).unzip()
    }
}

#[derive(Debug)]
pub struct LibraryDocument {
    pub id: DocumentId,
    pub title: String,
    pub filename: String,
    pub kind: Option<String>,
    pub fields: Value,
    pub conversation_id: Option<ConversationId>,
    pub created_at: DateTime<Utc>,
}

/// The file of a document, as it is stored. Its type is what the sender called it.
#[derive(Debug)]
pub struct DocumentFile {
    pub filename: String,
    pub content_type: String,
    pub size: i64,
    pub blob: String,
}

/// A document that somebody can see. Hidden, foreign and unknown ones are the same error.
pub async fn find_visible(conn: &mut PgConnection, actor: &Actor, id: DocumentId) -> Result<DocumentFile> {
    sqlx::query_as!(
        DocumentFile,
        "select filename, content_type, size, blob from documents
         where workspace_id = $1 and id = $2 and audience = any($3)",
        actor.workspace.0,
        id.0,
        &actor.audiences()
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_DOCUMENT)
}

/// The newest documents of these conversations that somebody can see.
pub async fn of_conversations(
    conn: &mut PgConnection,
    actor: &Actor,
    conversations: &[ConversationId],
    most: i64,
) -> Result<Vec<LibraryDocument>> {
    Ok(sqlx::query_as!(
        LibraryDocument,
        r#"select id as "id: DocumentId", title, filename, kind, fields,
               conversation_id as "conversation_id: ConversationId", created_at
           from documents
           where workspace_id = $1 and conversation_id = any($2) and audience = any($3)
           order by created_at desc, id desc limit $4"#,
        actor.workspace.0,
        conversations as &[ConversationId],
        &actor.audiences(),
        most
    )
    .fetch_all(conn)
    .await?)
}

/// The conversation that a document belongs to, in a line.
#[derive(Clone, Debug)]
pub struct CameWith {
    pub id: ConversationId,
    pub subject: String,
    pub contact: Option<String>,
}

/// What documents came with, as far as somebody can see it.
pub async fn came_with(
    conn: &mut PgConnection,
    actor: &Actor,
    conversations: &[ConversationId],
) -> Result<HashMap<ConversationId, CameWith>> {
    let found = sqlx::query_as!(
        CameWith,
        r#"select id as "id: ConversationId", subject, coalesce(contact_name, contact_email) as contact
           from conversations where workspace_id = $1 and id = any($2) and audience = any($3)"#,
        actor.workspace.0,
        conversations as &[ConversationId],
        &actor.audiences()
    )
    .fetch_all(conn)
    .await?;
    Ok(found.into_iter().map(|came| (came.id, came)).collect())
}

pub async fn search(
    conn: &mut PgConnection,
    actor: &Actor,
    filter: &DocumentFilter,
) -> Result<Vec<LibraryDocument>> {
    let folded = search_terms::fold(filter.words.as_deref().unwrap_or_default());
    let parts: Vec<&str> = folded.split_whitespace().collect();
    if parts.is_empty() {
        return newest(conn, actor, filter, filter.limit, &[]).await;
    }
    let patterns: Vec<String> = parts.iter().map(|part| containing(part)).collect();
    for depth in [FIRST_WALK, SECOND_WALK] {
        let found = newest(conn, actor, filter, depth, &patterns).await?;
        if found.len() as i64 == filter.limit || !are_more_than(conn, actor, filter, depth).await? {
            return Ok(found);
        }
        if found.len() <= HARDLY {
            break;
        }
    }
    by_pieces(conn, actor, filter, &patterns, &search_terms::pieces_of_words(actor.workspace, parts)).await
}

/// Up to `limit` of the newest `depth` documents that contain all words. The depth is shared by all audiences, so
/// that the hits are the newest there are.
async fn newest(
    conn: &mut PgConnection,
    actor: &Actor,
    filter: &DocumentFilter,
    depth: i64,
    patterns: &[String],
) -> Result<Vec<LibraryDocument>> {
    let (at, id) = filter.place();
    Ok(sqlx::query_as!(
        LibraryDocument,
        r#"select id as "id!: DocumentId", title as "title!", filename as "filename!", kind, fields as "fields!",
               conversation_id as "conversation_id: ConversationId", created_at as "created_at!"
           from (select branch.id, title, filename, kind, fields, conversation_id, created_at, searched
                 from unnest($2::bigint[]) seen(audience)
                 cross join lateral (
                     (select * from documents
                      where $3::text is null and workspace_id = $1 and documents.audience = seen.audience
                        and (created_at, documents.id) < (coalesce($7::timestamptz, 'infinity'), coalesce($8::bigint, 9223372036854775807))
                      order by created_at desc, id desc limit $4)
                     union all
                     (select * from documents
                      where workspace_id = $1 and documents.audience = seen.audience and kind = $3
                        and (created_at, documents.id) < (coalesce($7::timestamptz, 'infinity'), coalesce($8::bigint, 9223372036854775807))
                      order by created_at desc, id desc limit $4)) branch
                 order by created_at desc, branch.id desc limit $4) walked
           where searched like all($5)
           order by created_at desc, id desc limit $6"#,
        actor.workspace.0, &actor.audiences(), filter.kind.as_deref(), depth, patterns, filter.limit, at, id)
        .fetch_all(conn)
        .await?)
}

/// Whether a walk of this depth has left documents unseen. If not, the index, which covers the whole workspace,
/// need not be asked.
async fn are_more_than(
    conn: &mut PgConnection,
    actor: &Actor,
    filter: &DocumentFilter,
    depth: i64,
) -> Result<bool> {
    let (at, id) = filter.place();
    Ok(sqlx::query_scalar!(
        r#"select count(*) > $4 as "more!" from (
               select from unnest($2::bigint[]) seen(audience)
               cross join lateral (
                   (select from documents
                    where $3::text is null and workspace_id = $1 and documents.audience = seen.audience
                      and (created_at, documents.id) < (coalesce($5::timestamptz, 'infinity'), coalesce($6::bigint, 9223372036854775807))
                    limit $4::bigint + 1)
                   union all
                   (select from documents
                    where workspace_id = $1 and documents.audience = seen.audience and kind = $3
                      and (created_at, documents.id) < (coalesce($5::timestamptz, 'infinity'), coalesce($6::bigint, 9223372036854775807))
                    limit $4::bigint + 1)) branch) seen"#,
        actor.workspace.0,
        &actor.audiences(),
        filter.kind.as_deref(),
        depth,
        at,
        id
    )
    .fetch_one(conn)
    .await?)
}

async fn by_pieces(
    conn: &mut PgConnection,
    actor: &Actor,
    filter: &DocumentFilter,
    patterns: &[String],
    pieces: &[i64],
) -> Result<Vec<LibraryDocument>> {
    let (at, id) = filter.place();
    Ok(sqlx::query_as!(
        LibraryDocument,
        r#"select id as "id: DocumentId", title, filename, kind, fields,
               conversation_id as "conversation_id: ConversationId", created_at
           from documents
           where workspace_id + 0 = $1 and pieces @> $5 and searched like all($4) and audience = any($2)
             and ($3::text is null or kind = $3)
             and (created_at, documents.id) < (coalesce($7::timestamptz, 'infinity'), coalesce($8::bigint, 9223372036854775807))
           order by created_at desc, id desc limit $6"#,
        actor.workspace.0,
        &actor.audiences(),
        filter.kind.as_deref(),
        patterns,
        pieces,
        filter.limit,
        at,
        id
    )
    .fetch_all(conn)
    .await?)
}

/// A LIKE pattern for "contains this", with wildcards in the text escaped.
fn containing(part: &str) -> String {
    let mut pattern = String::from("%");
    for letter in part.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}
