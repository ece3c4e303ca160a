//! Daily quotas of mail from outside: per inbox for one sender and for one network, and for one conversation. Mail
//! over quota gets a temporary error, so nothing is lost. docs/decisions/daily-mail.md explains the numbers.
//!
//! Mail that passed DMARC has a quota of its own, or a forger could use up that of the sender it pretends to be.
//! Each node counts locally (`limits::daily_quota`) and adds to shared rows in steps.

use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use serde_json::json;
use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId, WorkspaceId};
use rookery_base::limits::daily_quota::QuotaKey;
use rookery_base::secrets::hashes::{number, sha256};
use rookery_base::store::db::Tx;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::By;

/// Size of the network that counts as one sender.
const IPV4_PREFIX: u8 = 24;
const IPV6_PREFIX: u8 = 48;
/// Rows of past days deleted at once.
const DROPPED: i64 = 10_000;

/// A mail that somebody brings, as it is counted.
pub struct Brought<'a> {
    pub workspace: WorkspaceId,
    pub mailbox: MailboxId,
    pub sender: &'a str,
    /// DMARC passed.
    pub is_proven: bool,
    pub address: Option<IpAddr>,
    pub bytes: usize,
}

/// A mail that joins a conversation, likewise.
pub struct Joining {
    pub mailbox: MailboxId,
    pub conversation: ConversationId,
    pub is_proven: bool,
    pub bytes: usize,
}

/// Counts a mail for its sender and its network. False when one of them is over its quota.
pub async fn admit(app: &App, brought: Brought<'_>) -> Result<bool> {
    let Brought { workspace, mailbox, sender, is_proven, address, bytes } = brought;
    let (sender, network) = (sender.to_lowercase(), address.map(network_of));
    let sender = match (is_proven, &network) {
        (true, _) => sender,
        (false, network) => format!("{sender} from {}", network.as_deref().unwrap_or("anywhere")),
    };
    let subject = |what, of: &str| QuotaKey {
        workspace,
        mailbox,
        day: app.clock.now().date_naive(),
        what,
        hash: hash(of),
    };
    let mut counted = vec![(subject("sender", &sender), app.config.mail_of_a_sender())];
    counted.extend(network.map(|network| (subject("network", &network), app.config.mail_of_a_network())));
    let Some(due) = app.received.take(&counted, bytes as i64) else { return Ok(false) };
    if !due.is_empty() {
        let mut conn = app.connection().await?;
        for (subject, (mails, bytes)) in &due {
            add(&mut conn, app, subject, *mails, *bytes).await?;
        }
    }
    Ok(true)
}

/// Counts a mail for the conversation it joins. False when that is over its quota.
pub async fn admit_to(app: &App, tx: &mut Tx<'_>, joining: Joining) -> Result<bool> {
    let Joining { mailbox, conversation, is_proven, bytes } = joining;
    let hash = if is_proven { conversation.0 } else { -conversation.0 };
    let (workspace, day) = (tx.workspace(), tx.now().date_naive());
    let subject = QuotaKey { workspace, mailbox, day, what: "conversation", hash };
    let counted = [(subject, app.config.mail_of_a_conversation())];
    let Some(due) = app.received.take(&counted, bytes as i64) else { return Ok(false) };
    for (subject, (mails, bytes)) in &due {
        add(tx, app, subject, *mails, *bytes).await?;
    }
    Ok(true)
}

/// Notes on the conversation's timeline, once a day, that mail is being deferred.
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

/// Deletes the counts of past days.
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

/// Adds to a shared row, and reads what other nodes have added.
async fn add(conn: &mut PgConnection, app: &App, subject: &QuotaKey, mails: i32, bytes: i64) -> Result<()> {
    let row = sqlx::query!(
        "insert into mail_received as known (workspace_id, mailbox_id, day, what, subject, mails, bytes)
             values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (workspace_id, mailbox_id, day, what, subject) do update
                 set mails = known.mails + excluded.mails, bytes = known.bytes + excluded.bytes
             returning mails, bytes",
        subject.workspace.0,
        subject.mailbox.0,
        subject.day,
        subject.what,
        subject.hash,
        mails,
        bytes
    )
    .fetch_one(conn)
    .await?;
    app.received.learn(*subject, row.mails, row.bytes);
    Ok(())
}

fn network_of(address: IpAddr) -> String {
    let address = address.to_canonical();
    let prefix = if address.is_ipv4() { IPV4_PREFIX } else { IPV6_PREFIX };
    IpNet::new(address, prefix).map_or_else(|_| address.to_string(), |network| network.trunc().to_string())
}

fn hash(text: &str) -> i64 {
    number(sha256(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows hold these numbers.
    #[test]
    fn a_sender_has_the_same_hash_for_ever() {
        assert_eq!(hash("sender anna@customer.example"), -7_621_386_096_638_913_525);
    }

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
