//! What a person has not read yet: mail that came to a conversation after they last saw it.
//!
//! It is each person's own: what one has read stays unread for the others, and reading leaves no trace that they could
//! see. Mail that is older than [`FRESH`] is not unread unless somebody marked it so; a new colleague does not begin
//! with years of it. docs/decisions/unread.md says when a conversation counts as seen.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Tx;

/// For how long mail that a person never saw is unread.
pub const FRESH: TimeDelta = TimeDelta::days(30);

/// Which of these conversations have mail that the person has not seen. The caller has made sure that the person can
/// see them.
pub async fn among(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
    conversations: &[i64],
) -> Result<HashSet<ConversationId>> {
    let ids = sqlx::query_scalar!(
        r#"select c.id as "id!: ConversationId"
           from unnest($3::bigint[]) asked(id)
           cross join lateral (
               select id, last_message_at,
                      (select seen_to from conversation_reads
                       where workspace_id = $1 and conversation_id = asked.id and person_id = $2) as seen_to
               from conversations where workspace_id = $1 and id = asked.id offset 0) c
           where seen_to = '-infinity'
              or (last_message_at > coalesce(seen_to, $4)
                  and exists (select from messages
                              where workspace_id = $1 and conversation_id = c.id and item >= 0
                                and at > coalesce(seen_to, $4) and direction = 'inbound'))"#,
        person.workspace.0,
        person.id.0,
        conversations,
        now - FRESH
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().collect())
}

/// How a person stands to a conversation.
#[derive(Clone, Copy, Debug)]
pub struct ReaderStanding {
    /// Up to when they have seen its mail. Nothing when they never opened it, or marked it unread.
    pub seen_to: Option<DateTime<Utc>>,
    /// They are told of what happens there.
    pub is_following: bool,
    /// Something was told that they have not read.
    pub has_notice: bool,
}

impl ReaderStanding {
    /// Opening the conversation would change nothing.
    pub fn has_seen(&self, conversation: &Conversation) -> bool {
        !self.has_notice && self.seen_to.is_some_and(|seen_to| seen_to >= conversation.last_message_at)
    }
}

pub async fn standing(
    conn: &mut PgConnection,
    person: &Person,
    conversation: &Conversation,
) -> Result<ReaderStanding> {
    Ok(sqlx::query_as!(
        ReaderStanding,
        r#"select (select nullif(seen_to, '-infinity') from conversation_reads
                   where workspace_id = $1 and conversation_id = $2 and person_id = $3) as seen_to,
               coalesce((select following from follows
                         where workspace_id = $1 and conversation_id = $2 and person_id = $3), false) as "is_following!",
               exists (select from notifications
                       where workspace_id = $1 and conversation_id = $2 and person_id = $3 and read_at is null)
                   as "has_notice!""#,
        person.workspace.0,
        conversation.id.0,
        person.id.0
    )
    .fetch_one(conn)
    .await?)
}

/// The person has seen this conversation as it was found. Mail that was stored meanwhile is dated later, so it stays
/// unread.
pub async fn seen(tx: &mut Tx<'_>, person: &Person, conversation: &Conversation) -> Result<()> {
    sqlx::query!(
        "insert into conversation_reads (workspace_id, conversation_id, person_id, seen_to) values ($1, $2, $3, $4)
         on conflict (workspace_id, conversation_id, person_id) do update set seen_to = excluded.seen_to
         where conversation_reads.seen_to < excluded.seen_to",
        tx.workspace().0,
        conversation.id.0,
        person.id.0,
        conversation.last_message_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The person wants to come back to it.
pub async fn mark_unread(tx: &mut Tx<'_>, person: &Person, conversation: &Conversation) -> Result<()> {
    sqlx::query!(
        "insert into conversation_reads (workspace_id, conversation_id, person_id, seen_to)
         values ($1, $2, $3, '-infinity')
         on conflict (workspace_id, conversation_id, person_id) do update set seen_to = '-infinity'",
        tx.workspace().0,
        conversation.id.0,
        person.id.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Up to when somebody has seen a conversation, as it is written down: it can also be the mark that they want to come
/// back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenTo(String);

/// How it is written down now; nothing when they never opened it.
pub async fn kept(
    conn: &mut PgConnection,
    person: &Person,
    conversation: &Conversation,
) -> Result<Option<SeenTo>> {
    let kept = sqlx::query_scalar!(
        r#"select (seen_to at time zone 'UTC')::text as "seen_to!" from conversation_reads
           where workspace_id = $1 and conversation_id = $2 and person_id = $3"#,
        person.workspace.0,
        conversation.id.0,
        person.id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(kept.map(SeenTo))
}

/// Makes it as it was written down.
pub async fn restore(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: &Conversation,
    before: Option<&SeenTo>,
) -> Result<()> {
    sqlx::query!(
        "with never as (
             delete from conversation_reads
             where workspace_id = $1 and conversation_id = $2 and person_id = $3 and $4::text is null)
         update conversation_reads set seen_to = $4::text::timestamp at time zone 'UTC'
         where workspace_id = $1 and conversation_id = $2 and person_id = $3 and $4 is not null",
        tx.workspace().0,
        conversation.id.0,
        person.id.0,
        before.map(|before| before.0.as_str())
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
