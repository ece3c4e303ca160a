//! What came after a draft was written, which makes it outdated: mail of the customer, or an answer of somebody else
//! (docs/decisions/outdated-drafts.md). It is looked for from the draft on, never from the start of its conversation.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{MessageId, WorkspaceId};

/// How many messages that came after a draft are looked at.
pub const MOST: i64 = 20;

/// What makes a draft outdated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftNews {
    pub draft: MessageId,
    pub newest: MessageId,
    /// When that came, or was let go.
    pub at: DateTime<Utc>,
    pub customer_wrote: bool,
    /// Somebody answered, or is about to.
    pub answered: bool,
}

/// What came after drafts: mail of the customer, not from a machine, and answers that were let go since. A draft that
/// was stopped counts from when it had been let go, because whoever did that had seen the conversation.
///
/// An answer is told by when somebody let it go, which stays as it is when it leaves: a draft's approval, or when it was
/// written, which its id knows to a millisecond.
pub async fn news(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    drafts: &[MessageId],
) -> Result<Vec<DraftNews>> {
    let drafts: Vec<i64> = drafts.iter().map(|draft| draft.0).collect();
    let rows = sqlx::query!(
        r#"select d.id as "draft: MessageId", found.ids[1] as "newest!: MessageId", found.times[1] as "at!",
               found.customer_wrote as "customer_wrote!", found.answered as "answered!"
           from unnest($2::bigint[]) asked(id)
           cross join lateral (select * from messages
                               where workspace_id = $1 and messages.id = asked.id and status = 'draft' offset 0) d
           cross join lateral (
               select array_agg(id order by since desc, item desc) as ids,
                      array_agg(since order by since desc, item desc) as times,
                      bool_or(direction = 'inbound') as customer_wrote, bool_or(direction = 'outbound') as answered
               from (select id, item, direction, since from (
                         select id, item, direction, at,
                                case direction when 'inbound' then at
                                else coalesce(approved_at, to_timestamp(((id >> 22) + 1577836800000) / 1000.0)) end as since
                         from messages
                         where workspace_id = $1 and conversation_id = d.conversation_id and item >= 0
                           and at >= date_trunc('milliseconds', d.at)
                           and ((direction = 'inbound' and not automatic)
                                or (status <> 'draft' and (author_type is not null or origin = 'assistant')))) later
                     where (date_trunc('milliseconds', since), item) > (date_trunc('milliseconds', d.at), d.item)
                     order by at desc, item desc limit $3) newest) found
           where found.ids is not null"#,
        workspace.0,
        &drafts,
        MOST
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| DraftNews {
            draft: row.draft,
            newest: row.newest,
            at: row.at,
            customer_wrote: row.customer_wrote,
            answered: row.answered,
        })
        .collect())
}
