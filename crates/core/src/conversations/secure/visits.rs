//! What happened on secure pages, and what the team is told of it: when it was read, by a receipt in the timeline. To open a
//! link is no reading; only what was shown after a proof is.

use std::collections::HashMap;
use std::net::IpAddr;

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::conversations::conversation::Locked;
use crate::conversations::secure::page::Way;
use crate::conversations::timeline;
use crate::workspace::access::By;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId, SecureVisitId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::net::ip_ranges;
use rookery_base::store::db::Tx;

/// Of one kind of a page; more than that is noise.
const MOST: i64 = 100;
/// Of one kind that the team is shown.
const SHOWN: i64 = 10;

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "kebab-case")]
    pub enum VisitEvent {
        CodeSent = "code-sent",
        Wrong = "wrong",
        Read = "read",
        File = "file",
        Replied = "replied",
        Locked = "locked",
        Ended = "ended",
    }
}

impl VisitEvent {
    /// Whatever else is noted, this is: strangers cannot make much of it.
    fn is_always_noted(self) -> bool {
        matches!(self, Self::Read | Self::Locked | Self::Ended)
    }
}

/// Writes down what happened. Of the network no more is kept than an IPv4 /24 or an IPv6 /64.
pub async fn note(tx: &mut Tx<'_>, message: MessageId, what: VisitEvent, network: IpAddr) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let id: SecureVisitId = tx.mint();
    sqlx::query!(
        "insert into secure_visits (workspace_id, message_id, id, at, what, network)
         select $1, $2, $3, $4, $5, $6::text::inet
         where $8 or (select count(*) from secure_visits
                      where workspace_id = $1 and message_id = $2 and what = $5) < $7",
        workspace,
        message.0,
        id.0,
        now,
        what.as_str(),
        ip_ranges::neighbourhood(network).to_string(),
        MOST,
        what.is_always_noted()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Somebody who proved to be meant was shown these messages. Those that nobody had read have a receipt now.
pub async fn read(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    messages: &[MessageId],
    network: IpAddr,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let first = sqlx::query_scalar!(
        r#"update secure_pages set first_read_at = $3
           where workspace_id = $1 and message_id = any($2) and first_read_at is null
           returning message_id as "id: MessageId""#,
        workspace,
        messages as &[MessageId],
        now
    )
    .fetch_all(&mut **tx)
    .await?;
    for message in first {
        note(tx, message, VisitEvent::Read, network).await?;
        timeline::append(tx, conversation.id, &By::System, "secure-read", json!({ "messageId": message }))
            .await?;
    }
    tx.touch(conversation.audience, LiveTopic::Messages);
    Ok(())
}

/// Which of these nobody has read.
pub async fn unread(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    messages: &[MessageId],
) -> Result<Vec<MessageId>> {
    Ok(sqlx::query_scalar!(
        r#"select message_id as "id: MessageId" from secure_pages
           where workspace_id = $1 and message_id = any($2) and first_read_at is null"#,
        workspace.0,
        messages as &[MessageId]
    )
    .fetch_all(conn)
    .await?)
}

/// What the team sees of a page.
#[derive(Debug)]
pub struct Seen {
    pub way: Way,
    pub expires_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub first_read_at: Option<DateTime<Utc>>,
    /// Its mail has left, so there is something to take back, also after a bounce.
    pub has_left: bool,
    /// The newest of each kind, oldest first.
    pub visits: Vec<(DateTime<Utc>, VisitEvent)>,
}

/// Of a conversation's secure messages of ours.
pub async fn seen(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> Result<HashMap<MessageId, Seen>> {
    let rows = sqlx::query!(
        r#"select p.message_id as "id: MessageId", proof as "way: Way", expires_at, revoked_at, first_read_at,
               (m.status in ('sending', 'sent') or (m.status = 'failed' and m.sent_at is not null)) as "has_left!"
           from secure_pages p join messages m on m.workspace_id = $1 and m.id = p.message_id
           where p.workspace_id = $1 and m.conversation_id = $2"#,
        workspace.0,
        conversation.0
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut seen: HashMap<MessageId, Seen> = rows
        .into_iter()
        .map(|row| {
            let one = Seen {
                way: row.way,
                expires_at: row.expires_at,
                revoked_at: row.revoked_at,
                first_read_at: row.first_read_at,
                has_left: row.has_left,
                visits: Vec::new(),
            };
            (row.id, one)
        })
        .collect();
    if seen.is_empty() {
        return Ok(seen);
    }
    let pages: Vec<MessageId> = seen.keys().copied().collect();
    let visits = sqlx::query!(
        r#"select message_id as "id: MessageId", at, what as "what: VisitEvent" from (
               select message_id, id, at, what, row_number() over (partition by message_id, what order by id desc) as n
               from secure_visits where workspace_id = $1 and message_id = any($2)) newest
           where n <= $3 order by message_id, id"#,
        workspace.0,
        &pages as &[MessageId],
        SHOWN
    )
    .fetch_all(conn)
    .await?;
    for visit in visits {
        if let Some(own) = seen.get_mut(&visit.id) {
            own.visits.push((visit.at, visit.what));
        }
    }
    Ok(seen)
}
