//! What came while somebody wrote: a customer's mail or a colleague's answer after the newest item that the writer had
//! before them. A send that would cross one of these stops and shows it. It guards the click, not the undo window.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::messages::message::Direction;

/// What is shown of each.
const SHOWN: i32 = 2_000;
const MOST: i64 = 20;

#[derive(Debug)]
pub struct CrossingMail {
    pub at: DateTime<Utc>,
    /// The customer wrote it, or we did.
    pub direction: Direction,
    pub who: String,
    pub text: String,
}

/// In order, at most the newest twenty. An approved draft is news although its message is older: the approval is not.
/// Reminders and mail of machines are no answers.
pub async fn since(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    seen: i32,
) -> Result<Vec<CrossingMail>> {
    let approved = sqlx::query_scalar!(
        r#"select data ->> 'messageId' as "message!" from timeline_events
           where workspace_id = $1 and conversation_id = $2 and item > $3 and event = 'approved'
             and data ->> 'messageId' is not null"#,
        workspace.0,
        conversation.id.0,
        seen
    )
    .fetch_all(&mut *conn)
    .await?;
    let approved: Vec<i64> =
        approved.iter().filter_map(|id| id.parse::<MessageId>().ok()).map(|id| id.0).collect();
    let mut news = sqlx::query_as!(
        CrossingMail,
        r#"select at, direction as "direction: Direction",
               coalesce(case when direction = 'outbound' then coalesce(
                   (select name from people where workspace_id = $1 and people.id = m.author_id),
                   (select name from agents where workspace_id = $1 and agents.id = m.author_id)) end,
                   from_name, from_email) as "who!", left(text, $4) as "text!"
           from messages m
           where workspace_id = $1 and conversation_id = $2 and (item > $3 or id = any($5))
             and case direction when 'inbound' then not automatic
                 else status <> 'draft' and (author_id is not null or origin = 'assistant') end
           order by at desc, item desc limit $6"#,
        workspace.0,
        conversation.id.0,
        seen,
        SHOWN,
        &approved,
        MOST
    )
    .fetch_all(conn)
    .await?;
    news.reverse();
    Ok(news)
}
