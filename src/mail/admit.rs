//! How much mail from outside is taken on one day: of one sender and of one network for one inbox, and into one
//! conversation. What is over is told to come again, so nothing is lost; docs/decisions/daily-mail.md says why so much.
//!
//! Mail that proves its sender (DMARC) is counted apart from mail that only says so, or a forger could use up the part
//! of the one it pretends to be. The counts are rows, so all nodes share them. Mails that come in the same instant may all see the last free place:
//! a cap against floods need not be exact.

use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use crate::app::App;
use crate::config::DailyMail;
use crate::conversations::timeline;
use crate::db::Tx;
use crate::error::Result;
use crate::ids::{ConversationId, MailboxId, WorkspaceId};
use crate::workspace::access::By;

/// Networks that one owner usually has whole.
const IPV4_PREFIX: u8 = 24;
const IPV6_PREFIX: u8 = 48;
/// Days whose counts are dropped at once.
const DROPPED: i64 = 10_000;

/// Counts a mail for its sender and its network; false when one of them has brought its part for today.
pub async fn admit(
    app: &App,
    (workspace, mailbox): (WorkspaceId, MailboxId),
    (sender, is_proven): (&str, bool),
    address: Option<IpAddr>,
    bytes: usize,
) -> Result<bool> {
    let (sender, network) = (sender.to_lowercase(), address.map(network_of));
    let sender = match (is_proven, &network) {
        (true, _) => sender,
        (false, network) => format!("{sender} from {}", network.as_deref().unwrap_or("anywhere")),
    };
    let mut counted = vec![("sender", hash(&sender), app.config.mail_of_a_sender())];
    counted.extend(network.map(|network| ("network", hash(&network), app.config.mail_of_a_network())));
    let (place, now) = ((workspace, mailbox), app.clock.now());
    count(&mut *app.connection().await?, place, now, &counted, bytes).await
}

/// Counts a mail for the conversation it joins; false when that has taken its part for today.
pub async fn admit_to(
    app: &App,
    tx: &mut Tx<'_>,
    mailbox: MailboxId,
    (conversation, is_proven): (ConversationId, bool),
    bytes: usize,
) -> Result<bool> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let subject = if is_proven { conversation.0 } else { -conversation.0 };
    let counted = [("conversation", subject, app.config.mail_of_a_conversation())];
    count(tx, (workspace, mailbox), now, &counted, bytes).await
}

/// Says on the conversation's timeline, once a day, that mail is being put off.
pub async fn tell(tx: &mut Tx<'_>, mailbox: MailboxId, conversation: ConversationId) -> Result<()> {
    let (workspace, today) = (tx.workspace().0, tx.now().date_naive());
    let first = sqlx::query!(
        "update mail_received set told = true
         where workspace_id = $1 and mailbox_id = $2 and day = $3 and what = 'conversation' and subject in ($4, -$4::bigint)
           and not exists (
               select from mail_received
               where workspace_id = $1 and mailbox_id = $2 and day = $3 and what = 'conversation'
                 and subject in ($4, -$4::bigint) and told)",
        workspace,
        mailbox.0,
        today,
        conversation.0
    )
    .execute(&mut **tx)
    .await?;
    if first.rows_affected() > 0 {
        timeline::append(tx, conversation, &By::System, "mail-limited", json!({ "day": today })).await?;
    }
    Ok(())
}

/// Drops the counts of days that are over.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    let before = (now - TimeDelta::days(1)).date_naive();
    loop {
        let dropped = sqlx::query!(
            "delete from mail_received where ctid = any (array(select ctid from mail_received where day < $1 limit $2))",
            before,
            DROPPED
        )
        .execute(&mut *conn)
        .await?;
        if (dropped.rows_affected() as i64) < DROPPED {
            return Ok(());
        }
    }
}

/// The first mail of a day is always taken: one that is larger than the cap would never come through.
async fn count(
    conn: &mut PgConnection,
    (workspace, mailbox): (WorkspaceId, MailboxId),
    now: DateTime<Utc>,
    counted: &[(&str, i64, DailyMail)],
    bytes: usize,
) -> Result<bool> {
    let what: Vec<&str> = counted.iter().map(|(what, ..)| *what).collect();
    let subjects: Vec<i64> = counted.iter().map(|(_, subject, _)| *subject).collect();
    let mails: Vec<i32> = counted.iter().map(|(.., most)| most.mails).collect();
    let most: Vec<i64> = counted.iter().map(|(.., most)| most.bytes).collect();
    let written = sqlx::query!(
        "with counted as materialized (
             select * from unnest($4::text[], $5::bigint[], $6::integer[], $7::bigint[]) as counted (what, subject, mails, bytes))
         insert into mail_received (workspace_id, mailbox_id, day, what, subject, mails, bytes)
         select $1, $2, $3, what, subject, 1, $8 from counted
         where not exists (
             select from counted cross join lateral (
                 select mails, bytes from mail_received received
                 where workspace_id = $1 and mailbox_id = $2 and day = $3 and received.what = counted.what
                   and received.subject = counted.subject offset 0) today
             where today.mails >= counted.mails or today.bytes + $8 > counted.bytes)
         on conflict (workspace_id, mailbox_id, day, what, subject) do update
             set mails = mail_received.mails + 1, bytes = mail_received.bytes + excluded.bytes",
        workspace.0,
        mailbox.0,
        now.date_naive(),
        &what as &[&str],
        &subjects,
        &mails,
        &most,
        bytes as i64
    )
    .execute(conn)
    .await?;
    Ok(written.rows_affected() > 0)
}

fn network_of(address: IpAddr) -> String {
    let address = address.to_canonical();
    let prefix = if address.is_ipv4() { IPV4_PREFIX } else { IPV6_PREFIX };
    IpNet::new(address, prefix).map_or_else(|_| address.to_string(), |network| network.trunc().to_string())
}

fn hash(text: &str) -> i64 {
    let digest = Sha256::digest(text);
    i64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_network() {
        for (address, network) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("::ffff:192.0.2.77", "192.0.2.0/24"),
            ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ] {
            assert_eq!(network_of(address.parse().unwrap()), network);
        }
    }
}
