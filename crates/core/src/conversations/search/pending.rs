//! What is to be indexed: messages that came, and conversations whose words begin anew. Whoever changes something notes
//! it here, in the same transaction; `index` works it off. Notes of the team are queued by the database
//! (migrations/0095_notes_in_search.sql).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::store::db::{Handle, Reading, Tx};

/// Schedules a conversation to be reindexed from scratch, because words of it were removed or changed.
pub async fn note(tx: &mut Tx<'_>, conversation: ConversationId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // The update takes the row's lock: an indexer that is just reading this conversation finishes first,
    // and this note is then a new one.
    sqlx::query!(
        "insert into unindexed_conversations (workspace_id, conversation_id, since) values ($1, $2, $3)
         on conflict (workspace_id, conversation_id)
             do update set since = excluded.since, noted_to = null, tries = 0, retry_at = null",
        workspace,
        conversation.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Schedules a new message to be indexed.
pub async fn note_message(tx: &mut Tx<'_>, conversation: ConversationId, message: MessageId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into unindexed_messages (workspace_id, conversation_id, message_id, since) values ($1, $2, $3, $4)
         on conflict (workspace_id, conversation_id, message_id) do nothing",
        workspace,
        conversation.0,
        message.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Workspaces with pending notes.
pub async fn unindexed(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"with recursive messages as (
               (select workspace_id from unindexed_messages order by workspace_id limit 1)
               union all
               select (select workspace_id from unindexed_messages where workspace_id > messages.workspace_id
                       order by workspace_id limit 1)
               from messages where messages.workspace_id is not null),
           conversations as (
               (select workspace_id from unindexed_conversations order by workspace_id limit 1)
               union all
               select (select workspace_id from unindexed_conversations where workspace_id > conversations.workspace_id
                       order by workspace_id limit 1)
               from conversations where conversations.workspace_id is not null),
           team as (
               (select workspace_id from unindexed_notes order by workspace_id limit 1)
               union all
               select (select workspace_id from unindexed_notes where workspace_id > team.workspace_id
                       order by workspace_id limit 1)
               from team where team.workspace_id is not null),
           people as (
               (select workspace_id from contacts where words is null order by workspace_id limit 1)
               union all
               select (select workspace_id from contacts where words is null and contacts.workspace_id > people.workspace_id
                       order by workspace_id limit 1)
               from people where people.workspace_id is not null)
           select workspace_id as "id!: WorkspaceId"
           from (select * from messages union select * from conversations union select * from team
                 union select * from people) noted
           where workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
             and (exists (select from unindexed_messages fresh
                          where fresh.workspace_id = noted.workspace_id and tries = 0)
               or exists (select from unindexed_messages failed
                          where failed.workspace_id = noted.workspace_id and tries > 0 and retry_at <= $1)
               or exists (select from unindexed_conversations anew
                          where anew.workspace_id = noted.workspace_id and (tries = 0 or retry_at <= $1))
               or exists (select from unindexed_conversations again
                          where again.workspace_id = noted.workspace_id and tries < 0)
               or exists (select from unindexed_notes fresh
                          where fresh.workspace_id = noted.workspace_id and tries = 0)
               or exists (select from unindexed_notes later
                          where later.workspace_id = noted.workspace_id and tries <> 0
                            and (retry_at <= $1 or retry_at = 'infinity'))
               or exists (select from contacts unknown
                          where unknown.workspace_id = noted.workspace_id and words is null))
           order by workspace_id limit 10000"#,
        now,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// Since when the oldest note has been waiting.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        "with recursive step as (
             (select workspace_id from unindexed_messages where tries = 0 order by workspace_id limit 1)
             union all
             select (select workspace_id from unindexed_messages
                     where tries = 0 and unindexed_messages.workspace_id > step.workspace_id
                     order by workspace_id limit 1)
             from step where workspace_id is not null),
         team as (
             (select workspace_id from unindexed_notes where tries = 0 order by workspace_id limit 1)
             union all
             select (select workspace_id from unindexed_notes
                     where tries = 0 and unindexed_notes.workspace_id > team.workspace_id
                     order by workspace_id limit 1)
             from team where workspace_id is not null)
         select least((select min(oldest.since) from (select workspace_id from step limit 64) few
                       cross join lateral (
                           select since from unindexed_messages
                           where tries = 0 and unindexed_messages.workspace_id = few.workspace_id
                           order by since, message_id limit 1) oldest),
                      (select min(oldest.since) from (select workspace_id from team limit 64) few
                       cross join lateral (
                           select since from unindexed_notes
                           where tries = 0 and unindexed_notes.workspace_id = few.workspace_id
                           order by since, note_id limit 1) oldest),
                      (select min(since) from unindexed_conversations where tries = 0))"
    )
    .fetch_one(conn)
    .await?)
}

/// What is searched, and so what has to be indexed before.
#[derive(Clone, Copy)]
pub enum Searched {
    /// And what the team wrote on it.
    Mail,
    Contacts,
}

/// Whether a search would miss something that is pending in its workspace. What failed before does not count, it comes when it can.
pub async fn would_miss(reading: &mut Reading, searched: Searched) -> Result<bool> {
    let workspace = reading.frame().workspace.0;
    Ok(match searched {
        Searched::Mail => {
            sqlx::query_scalar!(
                r#"select exists (select from unindexed_messages where workspace_id = $1 and tries = 0)
                   or exists (select from unindexed_conversations where workspace_id = $1 and tries = 0)
                   or exists (select from unindexed_notes where workspace_id = $1 and tries = 0) as "waiting!""#,
                workspace
            )
            .fetch_one(&mut **reading)
            .await?
        }
        Searched::Contacts => {
            sqlx::query_scalar!(
                r#"select exists (select from contacts where workspace_id = $1 and words is null) as "waiting!""#,
                workspace
            )
            .fetch_one(&mut **reading)
            .await?
        }
    })
}
