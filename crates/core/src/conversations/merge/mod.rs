//! Merging two conversations: one takes in what the other has, and the other is gone; its id leads to the first
//! (docs/decisions/merging.md). Here is what keeps two apart; `rows` moves what conversations own, and
//! `replies::merge` is the verb.

pub mod pair;
pub mod rows;

use std::fmt;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::{Conversation, merged_into};
use crate::conversations::lock::lock_visible;
use crate::conversations::merge::pair::Pair;
use crate::conversations::search::index;
use crate::conversations::status::Status;
use crate::workspace::people::Person;
use rookery_base::error::{Error, NO_CONVERSATION, Result};
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::store::db::Tx;

/// Messages that are moved in one commit.
const MOST_MESSAGES: i64 = 2_000;

/// Why two conversations stay apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    Same,
    OtherReference,
    BothAnswerAppMail,
    /// A message of the one that goes waits for its time or leaves, or one of the other leaves just now.
    Leaving,
    /// A draft would go to somebody else.
    DraftToAnother,
    /// Somebody is writing in both.
    WrittenInBoth,
    TooLong,
    /// Somebody is taken out of it, part by part: where the rest stood would not be known any more.
    BeingErased,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "They are one conversation already.",
            Self::OtherReference => {
                "They carry different references, by which an app files its mail. They have to stay apart."
            }
            Self::BothAnswerAppMail => "Both answer mail that an app sent. They have to stay apart.",
            Self::Leaving => "A reply is on its way. Stop it, or wait until it has left, and merge then.",
            Self::DraftToAnother => {
                "The conversation that goes has a draft, and its contact is another. Send or discard the draft first: \
                 after merging, replies go to the contact of the one that stays."
            }
            Self::WrittenInBoth => {
                "Somebody has begun to write in both. Let them send or discard one of the two first."
            }
            Self::BeingErased => "Somebody is being erased from one of the two. Merge them when that is done.",
            Self::TooLong => "The conversation that goes is very long. Merge the other one into it instead.",
        })
    }
}

impl From<Obstacle> for Error {
    fn from(obstacle: Obstacle) -> Self {
        Self::problem("merge", obstacle.to_string())
    }
}

/// Locks both, in an order in which two who merge cannot block each other: that of where they lead by now. Nobody else
/// merges in this workspace until the transaction ends. Conversations that other people see, or fewer, are not there for
/// each other.
pub async fn lock_both(
    tx: &mut Tx<'_>,
    person: &Person,
    kept: ConversationId,
    gone: ConversationId,
) -> Result<Pair> {
    index::pause(tx).await?;
    let workspace = tx.workspace();
    let kept = merged_into(tx, workspace, kept).await?.unwrap_or(kept);
    let gone = merged_into(tx, workspace, gone).await?.unwrap_or(gone);
    let first = lock_visible(tx, person, &kept.min(gone).to_string()).await?;
    let second = lock_visible(tx, person, &kept.max(gone).to_string()).await?;
    tx.waited(first.last_item_at.max(second.last_item_at));
    let (kept, gone) = if kept < gone { (first, second) } else { (second, first) };
    if kept.audience != gone.audience {
        return Err(NO_CONVERSATION);
    }
    rows::keep_others_out(tx, gone.id).await?;
    Ok(Pair { kept, gone })
}

/// What keeps two of one audience apart now.
pub async fn obstacle(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    kept: &Conversation,
    gone: &Conversation,
) -> Result<Option<Obstacle>> {
    if kept.id == gone.id {
        return Ok(Some(Obstacle::Same));
    }
    if kept.audience != gone.audience {
        return Err(NO_CONVERSATION);
    }
    if kept.reference.is_some() && gone.reference.is_some() && kept.reference != gone.reference {
        return Ok(Some(Obstacle::OtherReference));
    }
    let found = sqlx::query!(
        r#"select (select count(*) from app_mail where workspace_id = $1 and conversation_id in ($2, $3)) as "app_mail!",
               (select count(*) from messages
                where workspace_id = $1 and conversation_id = $3 and status in ('scheduled', 'sending'))
             + (select count(*) from messages
                where workspace_id = $1 and conversation_id = $2 and status = 'sending') as "leaving!",
               (select count(*) from messages
                where workspace_id = $1 and conversation_id = $3 and status = 'draft') as "drafts!",
               (select count(*) from (select from messages where workspace_id = $1 and conversation_id = $3 limit $4::bigint + 1) few)
                   as "messages!",
               exists (select from erasures where workspace_id = $1 and part_of in ($2, $3) and done_at is null)
                   as "is_being_erased!""#,
        workspace.0,
        kept.id.0,
        gone.id.0,
        MOST_MESSAGES
    )
    .fetch_one(conn)
    .await?;
    Ok(if found.is_being_erased {
        Some(Obstacle::BeingErased)
    } else if found.app_mail > 1 {
        Some(Obstacle::BothAnswerAppMail)
    } else if found.leaving > 0 {
        Some(Obstacle::Leaving)
    } else if found.drafts > 0 && kept.contact.email != gone.contact.email {
        Some(Obstacle::DraftToAnother)
    } else if found.messages > MOST_MESSAGES {
        Some(Obstacle::TooLong)
    } else {
        None
    })
}

/// A conversation that another one may be merged with.
#[derive(Debug)]
pub struct Candidate {
    pub id: ConversationId,
    pub subject: String,
    pub snippet: String,
    pub status: Status,
    pub contact: String,
    pub mailbox: String,
    pub last_message_at: DateTime<Utc>,
}

/// The newest others of the same contact.
pub async fn of_contact(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    most: i64,
) -> Result<Vec<i64>> {
    Ok(sqlx::query_scalar!(
        "select id from conversations where workspace_id = $1 and audience = $2 and contact_email = $3
         order by id desc limit $4",
        workspace.0,
        conversation.audience,
        conversation.contact.email,
        most + 1
    )
    .fetch_all(conn)
    .await?)
}

/// Of these, the others that the same people see, newest first.
pub async fn candidates(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    found: &[i64],
) -> Result<Vec<Candidate>> {
    Ok(sqlx::query_as!(
        Candidate,
        r#"select c.id as "id: ConversationId", c.subject, c.snippet, c.status as "status: Status",
               coalesce(c.contact_name, c.contact_email, '') as "contact!", c.last_message_at,
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "mailbox!"
           from unnest($2::bigint[]) found(id)
           cross join lateral (
               select * from conversations
               where workspace_id = $1 and conversations.id = found.id and audience = $3 and conversations.id <> $4
               offset 0) c
           order by c.last_message_at desc, c.id desc"#,
        workspace.0,
        found,
        conversation.audience,
        conversation.id.0
    )
    .fetch_all(conn)
    .await?)
}
