//! The words of mail that a connected service sent (specification 4.13.4): due from the first reply of a person
//! on, fetched once, then kept with the record. The record's row is the timer, and its claim a lease.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, SendingServiceId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::By;

/// Words that this node asks for, until its lease ends.
#[derive(Debug)]
pub struct ClaimedFetch {
    pub workspace: WorkspaceId,
    pub message_id: String,
    pub conversation: ConversationId,
    pub claim: i32,
    /// Tries in vain.
    pub tries: i16,
    pub service: SendingServiceId,
    pub provider: String,
    /// What the service calls the mail.
    pub service_ref: Option<String>,
    pub content_url: String,
    /// Sealed; nothing once the service is disconnected.
    pub token: Option<Vec<u8>>,
}

/// Takes twenty of what is due. Workspaces take turns among the thousand that are due longest: one whose service is slow does
/// not keep another's waiting.
pub async fn claim(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    lease_ends: DateTime<Utc>,
) -> Result<Vec<ClaimedFetch>> {
    Ok(sqlx::query_as!(
        ClaimedFetch,
        r#"with oldest as (
               select ctid as place, workspace_id, words_due_at as at from app_mail
               where words_due_at <= $1
                 and workspace_id <> all (array(select id from workspaces where fenced_at is not null))
               order by words_due_at limit 1000),
           turns as (
               select place, at, row_number() over (partition by workspace_id order by at) as turn from oldest),
           due as (
               select ctid, workspace_id, service_id from app_mail
               where ctid = any (array(select place from turns order by turn, at limit 20)) and words_due_at <= $1
               for update skip locked),
           entered as materialized (
               select workspace_id from (select distinct workspace_id from due) those
               where try_enter_workspace(workspace_id))
           update app_mail m set words_due_at = $2, words_claim = m.words_claim + 1
           from due, entered, sending_services s
           where m.ctid = due.ctid and entered.workspace_id = due.workspace_id
             and s.workspace_id = due.workspace_id and s.id = due.service_id
           returning m.workspace_id as "workspace: WorkspaceId", m.message_id,
                     m.conversation_id as "conversation!: ConversationId", m.words_claim as claim,
                     m.words_tries as tries,
                     s.id as "service: SendingServiceId", s.provider, m.service_ref, s.content_url, s.token"#,
        now,
        lease_ends
    )
    .fetch_all(conn)
    .await?)
}

/// When the next words are due.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(words_due_at) from app_mail where words_due_at is not null")
        .fetch_one(conn)
        .await?)
}

pub async fn store(tx: &mut Tx<'_>, claimed: &ClaimedFetch, text: &str) -> Result<bool> {
    settle(tx, claimed, Some(text), None, false).await
}

/// Another try at another time, or the first when it was given back untried.
pub async fn again(
    tx: &mut Tx<'_>,
    claimed: &ClaimedFetch,
    due_at: DateTime<Utc>,
    tried: bool,
) -> Result<bool> {
    settle(tx, claimed, None, Some(due_at), tried).await
}

/// The reply stands without the words, and its conversation says so.
pub async fn give_up(tx: &mut Tx<'_>, claimed: &ClaimedFetch) -> Result<bool> {
    if !settle(tx, claimed, None, None, false).await? {
        return Ok(false);
    }
    let conversation = match lock_any(tx, claimed.conversation).await {
        Err(Error::Missing(_)) => return Ok(true),
        locked => locked?,
    };
    let data = json!({ "messageId": claimed.message_id });
    timeline::append(tx, conversation.id, &By::System, "app-mail-unread", data).await?;
    Ok(true)
}

/// What came of a try. Only the newest claim is heard, and only while words are wanted.
async fn settle(
    tx: &mut Tx<'_>,
    claimed: &ClaimedFetch,
    text: Option<&str>,
    due_at: Option<DateTime<Utc>>,
    tried: bool,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let settled = sqlx::query!(
        "update app_mail set body_text = $4, words_due_at = $5, words_tries = words_tries + $6
         where workspace_id = $1 and livemode and message_id = $2 and words_claim = $3
           and words_due_at is not null",
        workspace,
        claimed.message_id,
        claimed.claim,
        text,
        due_at,
        i16::from(tried)
    )
    .execute(&mut **tx)
    .await?;
    Ok(settled.rows_affected() == 1)
}
