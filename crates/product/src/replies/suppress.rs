//! Addresses that must not be written to again: they complained, or do not exist (D134). Live and sandbox are
//! apart. The address is taken whole, with its plus tag. Every change is kept: what, why, by whom and when.
//!
//! A bounce is lifted by the person who writes again, a complaint only by an operator. What only a connected service says holds
//! for nobody who wrote to us.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId, SuppressionChangeId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::{By, SANDBOX};
use rookery_core::workspace::erased_addresses::Hasher;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Bounce,
    Complaint,
}

/// Who says that an address must not be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// It came back to us: about this message of ours, if that is known.
    Mail(Option<MessageId>),
    /// A connected service, of mail that an app sent by itself.
    Service,
}

/// What a service says of somebody who wrote to us counts for nothing. False then, and nothing was written.
pub async fn suppress_for_service(tx: &mut Tx<'_>, address: &str, reason: Reason) -> Result<bool> {
    if has_written(tx, address).await? {
        return Ok(false);
    }
    keep(tx, true, address, reason, Says::Service).await?;
    Ok(true)
}

/// Whether a person wrote to a live inbox by this address, in whosever conversation their mail stands.
async fn has_written(tx: &mut Tx<'_>, address: &str) -> Result<bool> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select from messages m
               join conversations c on c.workspace_id = $1 and c.id = m.conversation_id and c.audience <> $3
               where m.workspace_id = $1 and lower(m.from_email) = lower($2) and m.direction = 'inbound'
                 and not m.automatic) as "wrote!""#,
        workspace,
        address,
        SANDBOX
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// `about` is the message of ours that bounced or was complained about.
pub async fn suppress(
    tx: &mut Tx<'_>,
    livemode: bool,
    address: &str,
    reason: Reason,
    about: Option<MessageId>,
) -> Result<()> {
    keep(tx, livemode, address, reason, Says::Mail(about)).await
}

async fn keep(tx: &mut Tx<'_>, livemode: bool, address: &str, reason: Reason, says: Says) -> Result<()> {
    let (about, by_service) = match says {
        Says::Mail(about) => (about, false),
        Says::Service => (None, true),
    };
    let (workspace, now) = (tx.workspace().0, tx.now());
    let change: SuppressionChangeId = tx.mint();
    let reason = match reason {
        Reason::Bounce => "bounce",
        Reason::Complaint => "complaint",
    };
    sqlx::query!(
        "with suppressed as (
             insert into suppressed_addresses (workspace_id, livemode, address, reason, message_id, at, by_service)
             values ($1, $2, lower($3), $4, $5, $6, $9)
             on conflict (workspace_id, livemode, address)
                 do update set reason = excluded.reason, message_id = excluded.message_id, at = excluded.at,
                     by_service = excluded.by_service
                 -- What came back to us weighs more than what a service says, and a complaint more than a bounce.
                 where (suppressed_addresses.by_service and not excluded.by_service)
                    or (excluded.reason = 'complaint' and suppressed_addresses.reason = 'bounce'
                        and suppressed_addresses.by_service = excluded.by_service)
             returning address)
         insert into suppression_changes
             (workspace_id, id, livemode, address, change, reason, done_by, message_id, at)
         select $1, $7, $2, address, 'suppressed', $4, $8, $5, $6 from suppressed",
        workspace,
        livemode,
        address,
        reason,
        about.map(|message| message.0),
        now,
        change.0,
        By::System.name(),
        by_service
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub async fn is_suppressed(tx: &mut Tx<'_>, livemode: bool, address: &str) -> Result<bool> {
    let (workspace, keys) = (tx.workspace(), tx.frame().keys.clone());
    let erased = among_erased(tx, keys.as_deref(), workspace, livemode, &[address.to_owned()]).await?;
    let workspace = workspace.0;
    let is_suppressed = sqlx::query_scalar!(
        r#"select exists (select from suppressed_addresses
               where workspace_id = $1 and livemode = $2 and address = lower($3)) as "is_suppressed!""#,
        workspace,
        livemode,
        address
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(is_suppressed || !erased.is_empty())
}

/// Which of these addresses somebody had who was erased and must not be written to. A workspace that erased nobody who
/// was suppressed costs one look.
pub async fn among_erased(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    workspace: WorkspaceId,
    livemode: bool,
    addresses: &[String],
) -> Result<Vec<String>> {
    let any = sqlx::query_scalar!(
        r#"select exists (select from erased_bans where workspace_id = $1 and livemode = $2) as "any!""#,
        workspace.0,
        livemode
    )
    .fetch_one(&mut *conn)
    .await?;
    let Some(keys) = keys.filter(|_| any) else { return Ok(Vec::new()) };
    let Some(hasher) = Hasher::read(conn, keys, workspace).await? else { return Ok(Vec::new()) };
    let hashes: Vec<Vec<u8>> = addresses.iter().map(|address| hasher.hash(address).to_vec()).collect();
    let banned = sqlx::query_scalar!(
        "select hash from erased_bans where workspace_id = $1 and livemode = $2 and hash = any($3)",
        workspace.0,
        livemode,
        &hashes
    )
    .fetch_all(conn)
    .await?;
    let both = addresses.iter().zip(&hashes);
    Ok(both.filter(|(_, hash)| banned.contains(*hash)).map(|(address, _)| address.clone()).collect())
}

/// The ban of an erased address ends: somebody who has it asked for that, or, after a bounce, wrote.
async fn lift_erased(tx: &mut Tx<'_>, addresses: &[String], bounces_only: bool) -> Result<Vec<String>> {
    let (workspace, keys) = (tx.workspace(), tx.frame().keys.clone());
    let banned = among_erased(tx, keys.as_deref(), workspace, true, addresses).await?;
    let mut lifted = Vec::new();
    if let (Some(keys), false) = (keys, banned.is_empty()) {
        let hasher = Hasher::must(tx, &keys, workspace).await?;
        for address in banned {
            let hash = hasher.hash(&address);
            let gone = sqlx::query!(
                "delete from erased_bans where workspace_id = $1 and livemode and hash = $2 and (reason = 'bounce' or not $3)",
                workspace.0,
                hash.as_slice(),
                bounces_only
            )
            .execute(&mut **tx)
            .await?;
            if gone.rows_affected() > 0 {
                lifted.push(address);
            }
        }
    }
    Ok(lifted)
}

/// Which of these addresses must not be written to, in order; also of somebody who was erased.
pub async fn among(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    workspace: WorkspaceId,
    livemode: bool,
    addresses: &[String],
) -> Result<Vec<String>> {
    let mut all = among_erased(conn, keys, workspace, livemode, addresses).await?;
    let known = sqlx::query_scalar!(
        "select address from suppressed_addresses
         where workspace_id = $1 and livemode = $2 and address = any($3)",
        workspace.0,
        livemode,
        addresses
    )
    .fetch_all(conn)
    .await?;
    all.extend(known);
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// A mail that a person wrote to us.
#[derive(Clone, Copy, Debug)]
pub struct Wrote {
    pub message: MessageId,
    /// The sender's domain vouches for it. Of other mail nobody knows whether its sender has the address.
    pub vouched: bool,
}

/// The people of these mails are there: what a bounce said of their addresses is over, if the mail is theirs for certain; and
/// what only a service said of them is over in any case. Gives those it was said of.
pub async fn wrote_again(tx: &mut Tx<'_>, mails: &BTreeMap<&str, Wrote>) -> Result<Vec<String>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let changes: Vec<i64> = mails.iter().map(|_| tx.mint::<SuppressionChangeId>().0).collect();
    let (addresses, messages): (Vec<&str>, Vec<i64>) =
        mails.iter().map(|(address, wrote)| (*address, wrote.message.0)).unzip();
    let vouched: Vec<bool> = mails.values().map(|wrote| wrote.vouched).collect();
    let certain = mails.iter().filter(|(_, wrote)| wrote.vouched);
    let certain: Vec<String> = certain.map(|(address, _)| (*address).to_owned()).collect();
    let mut all = lift_erased(tx, &certain, true).await?;
    // What another transaction has its hands on is being lifted, or suppressed anew.
    let lifted = sqlx::query_scalar!(
        r#"with wrote as (
               select * from unnest($2::bigint[], $3::text[], $4::bigint[], $7::boolean[])
                          as mail (id, address, message_id, vouched)),
           lifted as (
               delete from suppressed_addresses where ctid = any (array(
                   select suppressed_addresses.ctid from suppressed_addresses
                   where workspace_id = $1 and livemode and address = any($3)
                     and (by_service or (reason = 'bounce' and exists (
                         select from wrote where wrote.address = suppressed_addresses.address and vouched)))
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
        By::System.name(),
        &vouched
    )
    .fetch_all(&mut **tx)
    .await?;
    all.extend(lifted);
    Ok(all)
}

/// Lifts whatever keeps us from writing to a live address. False when nothing did.
pub async fn unsuppress(tx: &mut Tx<'_>, address: &str) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let change: SuppressionChangeId = tx.mint();
    let erased = lift_erased(tx, &[address.to_lowercase()], false).await?;
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
    Ok(lifted.rows_affected() > 0 || !erased.is_empty())
}

/// Somebody is erased: how much mail they got is forgotten. That they must get none stays, under a hash.
pub async fn erase(tx: &mut Tx<'_>, address: &str, hasher: &Hasher) -> Result<()> {
    let (workspace, mark, hash) = (tx.workspace().0, hasher.mark(address), hasher.hash(address));
    sqlx::query!(
        "with answered as (delete from auto_replied where workspace_id = $1 and address = $2),
              away as (delete from away_replied where workspace_id = $1 and address = $2)
         delete from automatic_mail where workspace_id = $1 and address = $2",
        workspace,
        address
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "with banned as (
             insert into erased_bans (workspace_id, livemode, hash, reason, at)
             select workspace_id, livemode, $4, reason, at from suppressed_addresses
             where workspace_id = $1 and address = $2
             on conflict do nothing),
         changed as (update suppression_changes set address = $3 where workspace_id = $1 and address = $2)
         delete from suppressed_addresses where workspace_id = $1 and address = $2",
        workspace,
        address,
        mark,
        hash.as_slice()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
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
