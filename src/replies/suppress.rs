//! Addresses that must not be written to again: they complained, or do not exist (D134). Live and sandbox are
//! apart. The address is taken whole, with its plus tag. Every change is kept: what, why, by whom and when.
//!
//! A bounce is lifted by the person who writes again, a complaint only by an operator.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::{ConversationId, MessageId, SuppressionChangeId, WorkspaceId};
use crate::store::db::Tx;
use crate::workspace::access::By;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Bounce,
    Complaint,
}

/// `about` is the message of ours that bounced or was complained about.
pub async fn suppress(
    tx: &mut Tx<'_>,
    livemode: bool,
    address: &str,
    reason: Reason,
    about: MessageId,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let change: SuppressionChangeId = tx.mint();
    let reason = match reason {
        Reason::Bounce => "bounce",
        Reason::Complaint => "complaint",
    };
    sqlx::query!(
        "with suppressed as (
             insert into suppressed_addresses (workspace_id, livemode, address, reason, message_id, at)
             values ($1, $2, lower($3), $4, $5, $6)
             on conflict (workspace_id, livemode, address)
                 do update set reason = excluded.reason, message_id = excluded.message_id, at = excluded.at
                 where excluded.reason = 'complaint' and suppressed_addresses.reason = 'bounce'
             returning address)
         insert into suppression_changes
             (workspace_id, id, livemode, address, change, reason, done_by, message_id, at)
         select $1, $7, $2, address, 'suppressed', $4, $8, $5, $6 from suppressed",
        workspace,
        livemode,
        address,
        reason,
        about.0,
        now,
        change.0,
        By::System.name()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub async fn is_suppressed(tx: &mut Tx<'_>, livemode: bool, address: &str) -> Result<bool> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select exists (select from suppressed_addresses
               where workspace_id = $1 and livemode = $2 and address = lower($3)) as "is_suppressed!""#,
        workspace,
        livemode,
        address
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// Which of these addresses must not be written to, in order.
pub async fn among(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    livemode: bool,
    addresses: &[String],
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select address from suppressed_addresses
         where workspace_id = $1 and livemode = $2 and address = any($3) order by address",
        workspace.0,
        livemode,
        addresses
    )
    .fetch_all(conn)
    .await?)
}

/// The people of these mails are there: what a bounce said of their addresses is over. Gives those it was said of.
pub async fn wrote_again(tx: &mut Tx<'_>, mails: &BTreeMap<&str, MessageId>) -> Result<Vec<String>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let changes: Vec<i64> = mails.iter().map(|_| tx.mint::<SuppressionChangeId>().0).collect();
    let (addresses, messages): (Vec<&str>, Vec<i64>) =
        mails.iter().map(|(address, message)| (*address, message.0)).unzip();
    // What another transaction has its hands on is being lifted, or suppressed anew.
    Ok(sqlx::query_scalar!(
        r#"with wrote as (
               select * from unnest($2::bigint[], $3::text[], $4::bigint[]) as mail (id, address, message_id)),
           lifted as (
               delete from suppressed_addresses where ctid = any (array(
                   select suppressed_addresses.ctid from suppressed_addresses
                   where workspace_id = $1 and livemode and reason = 'bounce' and address = any($3)
                   for update skip locked))
               returning address),
           noted as (
               insert into suppression_changes
                   (workspace_id, id, livemode, address, change, reason, done_by, message_id, at)
               select $1, id, true, address, 'lifted', 'wrote', $6, message_id, $5 from wrote join lifted using (address))
           select address as "address!" from lifted"#,
        workspace,
        &changes,
        &addresses as &[&str],
        &messages,
        now,
        By::System.name()
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Lifts whatever keeps us from writing to a live address. False when nothing did.
pub async fn unsuppress(tx: &mut Tx<'_>, address: &str) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let change: SuppressionChangeId = tx.mint();
    let lifted = sqlx::query!(
        "with lifted as (
             delete from suppressed_addresses where workspace_id = $1 and livemode and address = lower($2)
             returning address, message_id)
         insert into suppression_changes
             (workspace_id, id, livemode, address, change, reason, done_by, message_id, at)
         select $1, $3, true, address, 'lifted', 'asked', 'Operator', message_id, $4 from lifted",
        workspace,
        address,
        change.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(lifted.rows_affected() > 0)
}

/// An address that we do not write to, and since when and why.
pub struct Suppressed {
    pub address: String,
    pub reason: String,
    pub at: DateTime<Utc>,
    /// What bounced or was complained about; unknown of what was suppressed before this was kept.
    pub message: Option<MessageId>,
    pub conversation: Option<ConversationId>,
}

/// All live ones, newest first.
pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Suppressed>> {
    Ok(sqlx::query_as!(
        Suppressed,
        r#"select address, reason, suppressed_addresses.at, message_id as "message: MessageId",
                  messages.conversation_id as "conversation?: ConversationId"
           from suppressed_addresses
           left join messages on messages.workspace_id = $1 and messages.id = message_id
           where suppressed_addresses.workspace_id = $1 and livemode
           order by suppressed_addresses.at desc, address"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}
