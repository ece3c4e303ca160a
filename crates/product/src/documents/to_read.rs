//! Documents that wait to be read (HLP-3): a note is written with the document, taken under a lease, and goes when what was
//! read is written down. People's values stay as they are, whoever was first (HLP-4: mail waits for none of this).

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::documents::fields::{DocumentStatement, Set};
use rookery_base::error::Result;
use rookery_base::ids::{DocumentId, MailboxId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::whole::FIELDS;

/// Documents of a claim, and of one workspace in it: files that thousands send to one inbox delay nobody else's.
const AT_ONCE: i64 = 8;
const OF_A_WORKSPACE: i64 = 2;

/// A document that this node reads, until its lease ends.
#[derive(Debug)]
pub struct ClaimedDocument {
    pub workspace: WorkspaceId,
    pub document: DocumentId,
    pub claim: i32,
    /// Tries in vain.
    pub tries: i16,
    pub blob: String,
    pub size: i64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct ReadDocument {
    pub by: String,
    pub milliseconds: i32,
    pub state: &'static str,
    pub pages: i32,
    pub kind: Option<String>,
    pub title: Option<String>,
    pub fields: Map<String, Value>,
    pub sources: Value,
    pub text: String,
}

pub async fn claim(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    lease_ends: DateTime<Utc>,
) -> Result<Vec<ClaimedDocument>> {
    Ok(sqlx::query_as!(
        ClaimedDocument,
        r#"with recursive step as (
               (select workspace_id from unread_documents order by workspace_id limit 1)
               union all
               select (select workspace_id from unread_documents where workspace_id > step.workspace_id
                       order by workspace_id limit 1)
               from step where step.workspace_id is not null),
           due as (
               select step.workspace_id, own.document_id from step
               cross join lateral (
                   select document_id, due_at from unread_documents
                   where workspace_id = step.workspace_id and due_at <= $1
                   order by due_at limit $3 for update skip locked) own
               where step.workspace_id <> all (array(select id from workspaces where fenced_at is not null))
               order by own.due_at limit $4),
           entered as materialized (
               select workspace_id from (select distinct workspace_id from due) those
               where try_enter_workspace(workspace_id))
           update unread_documents note set due_at = $2, claim = note.claim + 1
           from due, entered, documents
           where note.workspace_id = due.workspace_id and note.document_id = due.document_id
             and entered.workspace_id = due.workspace_id
             and documents.workspace_id = due.workspace_id and documents.id = due.document_id
           returning note.workspace_id as "workspace: WorkspaceId", note.document_id as "document: DocumentId",
                     note.claim, note.tries, documents.blob, documents.size"#,
        now,
        lease_ends,
        OF_A_WORKSPACE,
        AT_ONCE
    )
    .fetch_all(conn)
    .await?)
}

/// When the next one is due.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        "with recursive step as (
             (select workspace_id from unread_documents order by workspace_id limit 1)
             union all
             select (select workspace_id from unread_documents where workspace_id > step.workspace_id
                     order by workspace_id limit 1)
             from step where step.workspace_id is not null)
         select min(own.due_at) from (select workspace_id from step where workspace_id is not null limit 64) few
         cross join lateral (
             select due_at from unread_documents where workspace_id = few.workspace_id
             order by due_at limit 1) own"
    )
    .fetch_one(conn)
    .await?)
}

/// Another try at another time, or the first when it was given back untried.
pub async fn again(
    tx: &mut Tx<'_>,
    claimed: &ClaimedDocument,
    due_at: DateTime<Utc>,
    tried: bool,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let moved = sqlx::query!(
        "update unread_documents set due_at = $4, tries = tries + $5
         where workspace_id = $1 and document_id = $2 and claim = $3",
        workspace,
        claimed.document.0,
        claimed.claim,
        due_at,
        i16::from(tried)
    )
    .execute(&mut **tx)
    .await?;
    Ok(moved.rows_affected() == 1)
}

/// It is to be read: it was filed, or a person asks for it once more. Whoever reads it now is not heard any more.
pub async fn ask(tx: &mut Tx<'_>, document: DocumentId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into unread_documents (workspace_id, document_id, due_at) values ($1, $2, $3)
         on conflict (workspace_id, document_id)
         do update set due_at = excluded.due_at, tries = 0, claim = unread_documents.claim + 1",
        workspace,
        document.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Nobody will try any more: the document stays as it was filed, and says that it was not read.
pub async fn give_up(tx: &mut Tx<'_>, claimed: &ClaimedDocument) -> Result<bool> {
    if !leave(tx, claimed).await? {
        return Ok(false);
    }
    if was_read(tx, claimed.document).await? {
        return Ok(true);
    }
    let nothing = ReadDocument {
        by: String::new(),
        milliseconds: 0,
        state: "failed",
        pages: 0,
        kind: None,
        title: None,
        fields: Map::new(),
        sources: Value::Object(Map::new()),
        text: String::new(),
    };
    note(tx, claimed.document, &nothing).await?;
    Ok(true)
}

pub async fn store(tx: &mut Tx<'_>, claimed: &ClaimedDocument, read: &ReadDocument) -> Result<bool> {
    let (workspace, document) = (tx.workspace(), claimed.document);
    // A correction and whoever asks again take the same row first, so none misses or blocks another.
    let Some(filename) = sqlx::query_scalar!(
        "select filename from documents where workspace_id = $1 and id = $2 for no key update",
        workspace.0,
        document.0
    )
    .fetch_optional(&mut **tx)
    .await?
    else {
        return Ok(false);
    };
    if !leave(tx, claimed).await? {
        return Ok(false);
    }
    // What could be read once is not lost because it could not be read again.
    if matches!(read.state, "unreadable" | "failed") && was_read(tx, document).await? {
        return Ok(true);
    }
    let title = read.title.clone().filter(|title| !title.is_empty());
    let mut told = DocumentStatement {
        kind: read.kind.clone(),
        title: title.unwrap_or_else(|| filename.clone()),
        fields: read.fields.clone(),
    };
    for set in set_by_people(tx, document).await? {
        told.set(&set, &filename);
    }
    write(tx, document, &told, &filename).await?;
    note(tx, document, read).await?;
    Ok(true)
}

async fn was_read(tx: &mut Tx<'_>, document: DocumentId) -> Result<bool> {
    let workspace = tx.workspace().0;
    let state = sqlx::query_scalar!(
        "select state from document_readings where workspace_id = $1 and document_id = $2",
        workspace,
        document.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(state.as_deref() == Some("read"))
}

/// What people set lies over what stands there, after it came from a twin.
pub async fn lay_over(tx: &mut Tx<'_>, document: DocumentId) -> Result<()> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        "select kind, title, filename, fields from documents where workspace_id = $1 and id = $2 for no key update",
        workspace,
        document.0
    )
    .fetch_one(&mut **tx)
    .await?;
    let fields = row.fields.as_object().cloned().unwrap_or_default();
    let mut told = DocumentStatement { kind: row.kind, title: row.title, fields };
    for set in set_by_people(tx, document).await? {
        told.set(&set, &row.filename);
    }
    write(tx, document, &told, &row.filename).await
}

/// The note goes, if it is still ours: it was read, or nobody is to read it.
pub async fn leave(tx: &mut Tx<'_>, claimed: &ClaimedDocument) -> Result<bool> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "delete from unread_documents where workspace_id = $1 and document_id = $2 and claim = $3",
        workspace,
        claimed.document.0,
        claimed.claim
    )
    .execute(&mut **tx)
    .await?;
    Ok(gone.rows_affected() == 1)
}

async fn set_by_people(tx: &mut Tx<'_>, document: DocumentId) -> Result<Vec<Set>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_as!(
        Set,
        "select field, value from document_corrections where workspace_id = $1 and document_id = $2",
        workspace,
        document.0
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// What a model is shown of a document, and what is known already.
#[derive(Debug)]
pub struct DocumentForModel {
    /// Of the conversation and of all mail in it, for it may have come with any of them.
    pub inboxes: Vec<MailboxId>,
    pub audience: i64,
    pub kind: Option<String>,
    pub fields: Value,
    pub text: String,
}

impl DocumentForModel {
    /// Whether there are words, and something that nobody found in them.
    pub fn lacks_something(&self) -> bool {
        let unknown = |name: &str| self.fields.get(name).is_none_or(Value::is_null);
        !self.text.is_empty() && (self.kind.is_none() || FIELDS.iter().any(|name| unknown(name)))
    }
}

/// A document that was read and belongs to a conversation; nothing of any other.
pub async fn load_for_model(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    document: DocumentId,
) -> Result<Option<DocumentForModel>> {
    Ok(sqlx::query_as!(
        DocumentForModel,
        r#"select array(select c.mailbox_id union
                        select mailbox_id from messages m where m.workspace_id = $1 and m.conversation_id = c.id)
                   as "inboxes!: Vec<MailboxId>", d.audience, d.kind, d.fields, reading.text
           from documents d
           join conversations c on c.workspace_id = $1 and c.id = d.conversation_id
           join document_readings reading
               on reading.workspace_id = $1 and reading.document_id = d.id and reading.state = 'read'
           where d.workspace_id = $1 and d.id = $2"#,
        workspace.0,
        document.0
    )
    .fetch_optional(conn)
    .await?)
}

/// What somebody found where others found nothing.
#[derive(Clone, Debug)]
pub struct Missing {
    pub by: String,
    pub kind: Option<String>,
    pub fields: Map<String, Value>,
    pub sources: Map<String, Value>,
}

/// Fills in what is empty. What stands there stays, and so does what a person set, also to nothing.
pub async fn add(tx: &mut Tx<'_>, document: DocumentId, missing: &Missing) -> Result<()> {
    let workspace = tx.workspace().0;
    let Some(row) = sqlx::query!(
        "select d.filename, d.kind, d.title, d.fields, reading.sources
         from documents d
         join document_readings reading on reading.workspace_id = $1 and reading.document_id = d.id
         where d.workspace_id = $1 and d.id = $2 for no key update of d",
        workspace,
        document.0
    )
    .fetch_optional(&mut **tx)
    .await?
    else {
        return Ok(());
    };
    let set = set_by_people(tx, document).await?;
    let is_free = |name: &str| !set.iter().any(|set| set.field == name);
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    let mut told = DocumentStatement { kind: row.kind, title: row.title, fields: object(row.fields) };
    let mut sources = object(row.sources);
    let mut added = 0;
    if told.kind.is_none() && missing.kind.is_some() && is_free("kind") {
        told.kind = missing.kind.clone();
        added += 1;
    }
    for (name, value) in &missing.fields {
        if told.fields.get(name).is_none_or(Value::is_null) && is_free(name) {
            told.fields.insert(name.clone(), value.clone());
            if let Some(source) = missing.sources.get(name) {
                sources.insert(name.clone(), source.clone());
            }
            added += 1;
        }
    }
    if added == 0 {
        return Ok(());
    }
    write(tx, document, &told, &row.filename).await?;
    sqlx::query!(
        "update document_readings set sources = $3, read_by = read_by || ', ' || $4
         where workspace_id = $1 and document_id = $2",
        workspace,
        document.0,
        Value::Object(sources),
        missing.by
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What a document says, and the text that a search finds it by.
pub async fn write(
    tx: &mut Tx<'_>,
    document: DocumentId,
    told: &DocumentStatement,
    filename: &str,
) -> Result<()> {
    let workspace = tx.workspace();
    let (searched, pieces) = told.searched(workspace, filename);
    sqlx::query!(
        "update documents set kind = $3, title = $4, fields = $5, searched = $6, pieces = $7
         where workspace_id = $1 and id = $2",
        workspace.0,
        document.0,
        told.kind,
        told.title,
        Value::Object(told.fields.clone()),
        searched,
        &pieces
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn note(tx: &mut Tx<'_>, document: DocumentId, read: &ReadDocument) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into document_readings
             (workspace_id, document_id, read_at, read_by, milliseconds, state, pages, sources, text)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (workspace_id, document_id) do update set
             read_at = excluded.read_at, read_by = excluded.read_by, milliseconds = excluded.milliseconds,
             state = excluded.state, pages = excluded.pages, sources = excluded.sources, text = excluded.text",
        workspace,
        document.0,
        now,
        read.by,
        read.milliseconds,
        read.state,
        read.pages,
        read.sources,
        read.text
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
