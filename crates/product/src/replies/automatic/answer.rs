//! An inbox answers a customer's mail by itself, in the transaction that stores the mail. Nobody gets more than one in a
//! day from an inbox (RFC 3834), however many mails come at once: the row of the sender is taken. Nor does a conversation,
//! so that a program with a new address for each mail ends a loop, too.
//!
//! It is mail of the service's own: no author, no undo time, no change of status.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::replies::automatic::limit;
use crate::replies::suppress;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::conversations::messages::message::Author;
use rookery_core::conversations::messages::outbound::{self, Addressed, Outbound};
use rookery_core::workspace::inbox_settings::auto_reply::{self, AutoReplyWords};
use rookery_core::workspace::mailboxes::Mailbox;

/// One mail to an address from an inbox in this time.
const ONCE_IN: TimeDelta = TimeDelta::days(1);

/// Who reads no mail: what stands before the `@`, whole, at its beginning or at its end (RFC 3834, section 2).
const MACHINES: &[&str] = &[
    "mailer-daemon",
    "postmaster",
    "listserv",
    "majordomo",
    "noreply",
    "no-reply",
    "donotreply",
    "do-not-reply",
    "bounce",
    "bounces",
    "root",
    "daemon",
    "nobody",
];
const MACHINES_BEGIN: &[&str] =
    &["owner-", "bounce-", "bounces-", "bounce+", "bounces+", "noreply+", "no-reply+", "prvs="];
const MACHINES_END: &[&str] = &["-request", "-owner", "-bounce", "-bounces", "-noreply", "-no-reply"];

/// Answers a mail that a person wrote, which the caller made sure of. One in a transaction: two that take rows of several
/// senders could wait for each other.
pub async fn answer(tx: &mut Tx<'_>, mailbox: &Mailbox, stored: Stored, sender: &str) -> Result<()> {
    let Some(address) = addressee(sender) else { return Ok(()) };
    let Some(words) = auto_reply::due(tx, mailbox.id).await? else { return Ok(()) };
    let conversation = lock_any(tx, stored.conversation).await?;
    if !is_open_to(tx, mailbox, stored, &address).await?
        || is_tag_of_one(tx, mailbox.id, &address).await?
        || !is_first(tx, mailbox.id, &address).await?
        || limit::count(tx, mailbox.livemode(), &address).await?.is_err()
    {
        return Ok(());
    }
    send(tx, &conversation, stored, address, words).await
}

/// Whether the address may get any automatic reply in this conversation now.
pub(super) async fn is_open_to(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    stored: Stored,
    address: &str,
) -> Result<bool> {
    Ok(!suppress::is_suppressed(tx, mailbox.livemode(), address).await?
        && !is_answered(tx, stored.conversation).await?)
}

/// Says it, from the inbox of the conversation.
pub(super) async fn send(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    stored: Stored,
    address: String,
    words: AutoReplyWords,
) -> Result<()> {
    let subject = if words.subject.is_empty() { answers(&conversation.subject) } else { words.subject };
    let addressed = Addressed {
        to: vec![address],
        subject: Some(subject),
        answers: Some(stored.message),
        ..Addressed::default()
    };
    let reply = Outbound {
        message: tx.mint(),
        author: Author::Service,
        text: &words.text,
        written: None,
        summary: None,
        sends_at: Some(tx.now()),
        addressed: Some(&addressed),
    };
    outbound::add_behind(tx, conversation, reply).await
}

/// The address as it is counted; nothing for one that no person reads.
pub fn addressee(sender: &str) -> Option<String> {
    Some(sender.to_lowercase()).filter(|address| !is_machine(address))
}

/// Which of these got one today, by inbox.
pub async fn today(tx: &mut Tx<'_>, asked: &[(MailboxId, String)]) -> Result<Vec<(MailboxId, String)>> {
    let (workspace, since) = (tx.workspace().0, tx.now() - ONCE_IN);
    let (inboxes, addresses): (Vec<i64>, Vec<String>) =
        asked.iter().map(|(inbox, address)| (inbox.0, address.clone())).unzip();
    let rows = sqlx::query!(
        r#"select mailbox_id as "inbox: MailboxId", address from auto_replied
           where workspace_id = $1 and at > $4
             and (mailbox_id, address) in (select * from unnest($2::bigint[], $3::text[]))"#,
        workspace,
        &inboxes,
        &addresses,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.inbox, row.address)).collect())
}

/// Whether the service answered in this conversation within a day, whomever.
async fn is_answered(tx: &mut Tx<'_>, conversation: ConversationId) -> Result<bool> {
    let (workspace, since) = (tx.workspace().0, tx.now() - ONCE_IN);
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select from messages
               where workspace_id = $1 and conversation_id = $2 and at > $3 and item >= 0
                 and origin = 'service' and answers is not null) as "is!""#,
        workspace,
        conversation.0,
        since
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// How all addresses of a correspondent begin and end who has another tag for each mail.
pub(super) struct Tagged {
    pub begins: String,
    pub ends: String,
}

pub(super) fn of_one_tag(address: &str) -> Option<Tagged> {
    let (local, domain) = address.rsplit_once('@')?;
    let (name, _) = local.split_once('+')?;
    Some(Tagged { begins: format!("{name}+"), ends: format!("@{domain}") })
}

/// `reply+1@x` and `reply+2@x` are one correspondent, and most likely a program.
async fn is_tag_of_one(tx: &mut Tx<'_>, inbox: MailboxId, address: &str) -> Result<bool> {
    let Some(tagged) = of_one_tag(address) else { return Ok(false) };
    let (workspace, since) = (tx.workspace().0, tx.now() - ONCE_IN);
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select from auto_replied
               where workspace_id = $1 and mailbox_id = $2 and at > $3 and address <> $6
                 and starts_with(address, $4) and right(address, length($5)) = $5) as "is!""#,
        workspace,
        inbox.0,
        since,
        tagged.begins,
        tagged.ends,
        address
    )
    .fetch_one(&mut **tx)
    .await?)
}

fn answers(subject: &str) -> String {
    let begins = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    if begins { subject.to_owned() } else { format!("Re: {subject}") }
}

fn is_machine(address: &str) -> bool {
    let local = address.rsplit_once('@').map_or(address, |(local, _)| local);
    MACHINES.contains(&local)
        || MACHINES_BEGIN.iter().any(|start| local.starts_with(start))
        || MACHINES_END.iter().any(|end| local.ends_with(end))
}

/// Takes the sender's row. False when they got one within a day, also from a transaction that is not done yet: its row is
/// waited for.
async fn is_first(tx: &mut Tx<'_>, inbox: MailboxId, address: &str) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let taken = sqlx::query!(
        "insert into auto_replied as kept (workspace_id, mailbox_id, address, at) values ($1, $2, $3, $4)
         on conflict (workspace_id, mailbox_id, address) do update set at = excluded.at where kept.at <= $5",
        workspace,
        inbox.0,
        address,
        now,
        now - ONCE_IN
    )
    .execute(&mut **tx)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// Forgets those whose day is over.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "auto_replied", "at", now - ONCE_IN, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_known_by_their_address() {
        for machine in [
            "mailer-daemon@x.example",
            "no-reply@x.example",
            "owner-list@x.example",
            "list-request@x.example",
            "bounces+77=a@x.example",
            "list-bounces@x.example",
        ] {
            assert!(is_machine(machine), "{machine}");
        }
        for person in [
            "ada@x.example",
            "norbert@x.example",
            "request@x.example",
            "owner@x.example",
            "ada@noreply.example",
        ] {
            assert!(!is_machine(person), "{person}");
        }
    }

    #[test]
    fn a_subject_is_answered_once() {
        assert_eq!((answers("Hi"), answers("RE: Hi")), ("Re: Hi".into(), "RE: Hi".into()));
        assert_eq!(answers("é"), "Re: é");
    }
}
