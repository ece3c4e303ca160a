//! How much of conversations one transaction takes away: so many rows and so many bytes, however long a conversation is or
//! whatever its counters say. What fits goes at once; what is longer goes part by part, each in a transaction of its own.

use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;

/// What one transaction takes.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Messages, entries of timelines, notes and documents.
    pub rows: i64,
    /// Of the mail, as it is stored.
    pub bytes: i64,
}

/// Takes well below a second, where a statement may take five.
pub const ALLOWED: Allowance = Allowance { rows: 1_000, bytes: 32 * 1024 * 1024 };

/// How many of these conversations fit into one transaction, from the first on. None, when the first does not.
pub async fn fitting(tx: &mut Tx<'_>, conversations: &[ConversationId], allowed: Allowance) -> Result<usize> {
    let workspace = tx.workspace().0;
    let fitting = sqlx::query_scalar!(
        r#"with recursive listed as (
               select id, n from unnest($2::bigint[]) with ordinality as t (id, n)),
           sums (n, rows, bytes) as (
               select 0::bigint, 0::bigint, 0::bigint
               union all
               select listed.n, sums.rows + one.rows, sums.bytes + one.bytes
               from sums join listed on listed.n = sums.n + 1
               cross join lateral (
                   select mail.rows
                        + (select count(*) from (select from timeline_events e
                               where e.workspace_id = $1 and e.conversation_id = listed.id limit $3::bigint + 1) few)
                        + (select count(*) from (select from notes n
                               where n.workspace_id = $1 and n.conversation_id = listed.id limit $3::bigint + 1) few)
                        + (select count(*) from (select from documents d
                               where d.workspace_id = $1 and d.conversation_id = listed.id limit $3::bigint + 1) few) as rows,
                        mail.bytes
                   from (select count(*) as rows, coalesce(sum(size), 0)::bigint as bytes from (
                             select pg_column_size(m.text) + coalesce(pg_column_size(m.raw), 0)
                                  + coalesce(pg_column_size(m.whole_text), 0) + coalesce(pg_column_size(h.html), 0) as size
                             from messages m left join message_html h on h.workspace_id = $1 and h.message_id = m.id
                             where m.workspace_id = $1 and m.conversation_id = listed.id limit $3::bigint + 1) few) mail) one
               where sums.rows <= $3 and sums.bytes <= $4)
           select count(*) as "fitting!" from sums where n > 0 and rows <= $3 and bytes <= $4"#,
        workspace,
        conversations as &[ConversationId],
        allowed.rows,
        allowed.bytes
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(fitting as usize)
}

/// All mail of conversations that fit.
pub async fn all(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<Vec<MessageId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select id as "id: MessageId" from messages where workspace_id = $1 and conversation_id = any($2)"#,
        workspace,
        conversations as &[ConversationId]
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// `part_of!(tx, conversation, " and m.id < ", 17, "desc", allowed)`
macro_rules! part_of {
    ($tx:expr, $conversation:expr, $bound:literal, $id:expr, $order:literal, $allowed:expr) => {{
        let (tx, conversation, allowed): (&mut Tx<'_>, ConversationId, Allowance) =
            ($tx, $conversation, $allowed);
        let (workspace, id): (i64, i64) = (tx.workspace().0, $id);
        sqlx::query_scalar!(
            r#"select id as "id!: MessageId" from (
                   select id, row_number() over in_order as n, sum(size) over in_order as bytes from (
                       select m.id, pg_column_size(m.text) + coalesce(pg_column_size(m.raw), 0)
                            + coalesce(pg_column_size(m.whole_text), 0) + coalesce(pg_column_size(h.html), 0) as size
                       from messages m left join message_html h on h.workspace_id = $1 and h.message_id = m.id
                       where m.workspace_id = $1 and m.conversation_id = $2"#
                + $bound
                + "$3 order by m.id "
                + $order
                + " limit $4) few window in_order as (order by id "
                + $order
                + ")) sums where bytes <= $5 or n = 1",
            workspace,
            conversation.0,
            id,
            allowed.rows,
            allowed.bytes
        )
        .fetch_all(&mut **tx)
        .await?
    }};
}

/// The newest mail of a conversation below an id, as much as fits and at least one; none when all is done.
pub async fn newest(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    before: MessageId,
    allowed: Allowance,
) -> Result<Vec<MessageId>> {
    Ok(part_of!(tx, conversation, " and m.id < ", before.0, "desc", allowed))
}

/// The oldest mail of a conversation, as much as fits and at least one; none when all is gone.
pub async fn oldest(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    allowed: Allowance,
) -> Result<Vec<MessageId>> {
    Ok(part_of!(tx, conversation, " and m.id > ", 0, "", allowed))
}
