//! Mail that nobody has sorted yet. It is noted in the transaction that stores it; a batch is taken, judged and written in
//! one transaction, which never waits for whoever holds a conversation: that mail comes with the next batch.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;

/// Characters of a mail that are looked at: who wants something says so early.
const LOOKED_AT: i32 = 6_000;
/// How long a mail that could not be sorted waits; after the last it stays unsorted.
const PAUSES: [TimeDelta; 3] = [TimeDelta::minutes(1), TimeDelta::minutes(15), TimeDelta::hours(3)];

/// A mail, and what is said of its conversation so far.
#[derive(Clone, Debug)]
pub struct Unsorted {
    pub message: MessageId,
    pub conversation: ConversationId,
    /// The inbox it came to, and that of its conversation, which is another after a merge.
    pub mailbox: MailboxId,
    pub home: MailboxId,
    pub audience: i64,
    pub subject: String,
    pub text: String,
    pub automatic: bool,
    /// It came as plain mail.
    pub by_mail: bool,
    /// It opened the conversation.
    pub starts: bool,
    pub topic: Option<String>,
    pub urgency: Option<String>,
    pub risk: Option<String>,
    /// A person said it.
    pub topic_stands: bool,
    pub urgency_stands: bool,
}

/// Takes some of a workspace's notes. `taken` are those that are locked; what could be read of them is in `mails`.
pub struct NotesBatch {
    pub taken: Vec<MessageId>,
    pub mails: Vec<Unsorted>,
}

pub async fn take(tx: &mut Tx<'_>, most: i64) -> Result<NotesBatch> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let taken = sqlx::query_scalar!(
        r#"select message_id as "id: MessageId" from unsorted_messages
           where workspace_id = $1 and (tries = 0 or retry_at <= $2)
           order by message_id limit $3 for update skip locked"#,
        workspace,
        now,
        most
    )
    .fetch_all(&mut **tx)
    .await?;
    let mails = if taken.is_empty() { Vec::new() } else { read(tx, &taken).await? };
    Ok(NotesBatch { taken, mails })
}

/// These mails with their conversations, which are locked. What somebody else holds, or is gone, is left out.
pub async fn read(tx: &mut Tx<'_>, messages: &[MessageId]) -> Result<Vec<Unsorted>> {
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = messages.iter().map(|message| message.0).collect();
    Ok(sqlx::query_as!(
        Unsorted,
        r#"select m.id as "message: MessageId", c.id as "conversation: ConversationId",
               m.mailbox_id as "mailbox: MailboxId", c.mailbox_id as "home: MailboxId", c.audience, c.subject,
               left(m.text, $3) as "text!", m.automatic, m.channel = 'mail' as "by_mail!",
               m.item = 1 as "starts!", c.topic, c.urgency, c.risk, c.topic_person is not null as "topic_stands!",
               c.urgency_person is not null as "urgency_stands!"
           from messages m
           join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
           where m.workspace_id = $1 and m.id = any($2) and m.direction = 'inbound'
           order by m.id for no key update of c skip locked"#,
        workspace,
        &ids,
        LOOKED_AT
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// One mail as it is now, for whoever only looks; nothing when it is gone.
pub async fn load(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<Unsorted>> {
    Ok(sqlx::query_as!(
        Unsorted,
        r#"select m.id as "message: MessageId", c.id as "conversation: ConversationId",
               m.mailbox_id as "mailbox: MailboxId", c.mailbox_id as "home: MailboxId", c.audience, c.subject,
               left(m.text, $3) as "text!", m.automatic, m.channel = 'mail' as "by_mail!",
               m.item = 1 as "starts!", c.topic, c.urgency, c.risk, c.topic_person is not null as "topic_stands!",
               c.urgency_person is not null as "urgency_stands!"
           from messages m join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
           where m.workspace_id = $1 and m.id = $2 and m.direction = 'inbound'"#,
        workspace.0,
        message.0,
        LOOKED_AT
    )
    .fetch_optional(conn)
    .await?)
}

/// Whether the customer has written nothing since.
pub async fn is_newest(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    message: MessageId,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select not exists (
               select from messages m join messages later on later.workspace_id = $1 and later.conversation_id = $2
               where m.workspace_id = $1 and m.id = $3 and later.direction = 'inbound' and not later.automatic
                 and (later.at, later.item) > (m.at, m.item)) as "is!""#,
        workspace.0,
        conversation.0,
        message.0
    )
    .fetch_one(conn)
    .await?)
}

/// These are sorted; and of what was taken, notes of mail that is gone go too.
pub async fn done(tx: &mut Tx<'_>, batch: &NotesBatch) -> Result<()> {
    let workspace = tx.workspace().0;
    let taken: Vec<i64> = batch.taken.iter().map(|message| message.0).collect();
    let sorted: Vec<i64> = batch.mails.iter().map(|mail| mail.message.0).collect();
    sqlx::query!(
        "delete from unsorted_messages note
         where workspace_id = $1 and message_id = any($2)
           and (message_id = any($3)
                or not exists (select from messages m where m.workspace_id = $1 and m.id = note.message_id))",
        workspace,
        &taken,
        &sorted
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The first of them could not be sorted: it waits, and in the end it stays unsorted.
pub async fn put_off(tx: &mut Tx<'_>) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let row = sqlx::query!(
        "select message_id, tries from unsorted_messages
         where workspace_id = $1 and (tries = 0 or retry_at <= $2) order by message_id limit 1 for update skip locked",
        workspace,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(()) };
    match PAUSES.get(usize::try_from(row.tries).unwrap_or_default()) {
        Some(pause) => {
            sqlx::query!(
                "update unsorted_messages set tries = tries + 1, retry_at = $3
                 where workspace_id = $1 and message_id = $2",
                workspace,
                row.message_id,
                now + *pause
            )
            .execute(&mut **tx)
            .await?
        }
        None => {
            sqlx::query!(
                "delete from unsorted_messages where workspace_id = $1 and message_id = $2",
                workspace,
                row.message_id
            )
            .execute(&mut **tx)
            .await?
        }
    };
    Ok(())
}

/// Workspaces with notes.
pub async fn unsorted(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"with recursive step as (
               (select workspace_id from unsorted_messages order by workspace_id limit 1)
               union all
               select (select workspace_id from unsorted_messages where workspace_id > step.workspace_id
                       order by workspace_id limit 1)
               from step where step.workspace_id is not null)
           select workspace_id as "id!: WorkspaceId" from step
           where workspace_id is not null and workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
             and exists (select from unsorted_messages note
                         where note.workspace_id = step.workspace_id and (tries = 0 or retry_at <= $1))
           order by workspace_id limit 10000"#,
        now,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// Since when the oldest note of some workspaces has been waiting.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        "with recursive step as (
             (select workspace_id from unsorted_messages order by workspace_id limit 1)
             union all
             select (select workspace_id from unsorted_messages where workspace_id > step.workspace_id
                     order by workspace_id limit 1)
             from step where step.workspace_id is not null)
         select min(oldest.at) from (select workspace_id from step where workspace_id is not null limit 64) few
         cross join lateral (
             select coalesce(retry_at, since) as at from unsorted_messages note
             where note.workspace_id = few.workspace_id order by message_id limit 1) oldest"
    )
    .fetch_one(conn)
    .await?)
}
