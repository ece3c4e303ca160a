//! A customer's reply in a conversation of somebody who is out of office is answered with that person's text: once to each
//! sender in a period, and then instead of what the inbox answers. All other rules are those of `answer`
//! (docs/decisions/out-of-office.md).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::replies::automatic::answer::{addressee, is_open_to, of_one_tag, send};
use crate::replies::automatic::limit;
use rookery_base::error::Result;
use rookery_base::ids::PersonId;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::inbox_settings::auto_reply::AutoReplyWords;
use rookery_core::workspace::mailboxes::Mailbox;
use rookery_core::workspace::people::away::{self, Absence};

/// False when there is nothing of theirs to say: they are not away, or a rule has just given the conversation to somebody
/// else. Then the inbox answers as ever.
pub async fn answer_for(
    tx: &mut Tx<'_>,
    person: PersonId,
    mailbox: &Mailbox,
    stored: Stored,
    sender: &str,
) -> Result<bool> {
    let conversation = lock_any(tx, stored.conversation).await?;
    if conversation.assignee.as_ref().is_none_or(|member| member.id != MemberId::Person(person)) {
        return Ok(false);
    }
    let Some(words) = away::words_now(tx, person).await? else { return Ok(false) };
    // They may write from their own address, too.
    let Some(address) = addressee(sender).filter(|address| *address != words.email) else { return Ok(true) };
    if is_open_to(tx, mailbox, stored, &address).await?
        && !is_tag_of_one(tx, person, words.absence, &address).await?
        && is_first(tx, person, words.absence, &address).await?
    {
        if limit::count(tx, mailbox.livemode(), &address).await?.is_ok() {
            let words = AutoReplyWords { subject: String::new(), text: words.text };
            send(tx, &conversation, stored, address, words).await?;
        } else {
            give_back(tx, person, &address).await?;
        }
    }
    Ok(true)
}

async fn is_tag_of_one(tx: &mut Tx<'_>, person: PersonId, absence: Absence, address: &str) -> Result<bool> {
    let Some(tagged) = of_one_tag(address) else { return Ok(false) };
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select from away_replied
               where workspace_id = $1 and person_id = $2 and ends_at > $3 and at >= $7 and address <> $6
                 and starts_with(address, $4) and right(address, length($5)) = $5) as "is!""#,
        workspace,
        person.0,
        now,
        tagged.begins,
        tagged.ends,
        address,
        absence.from
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// Takes the sender's row. False when they got the text in this period, also from a transaction that is not done yet. Who was
/// given an earlier end of it is answered once more when that is over.
async fn is_first(tx: &mut Tx<'_>, person: PersonId, absence: Absence, address: &str) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let taken = sqlx::query!(
        "insert into away_replied as kept (workspace_id, person_id, address, at, ends_at) values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, person_id, address) do update set at = excluded.at, ends_at = excluded.ends_at
         where kept.ends_at <= $4 or kept.at < $6",
        workspace,
        person.0,
        address,
        now,
        absence.until,
        absence.from
    )
    .execute(&mut **tx)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// They were not answered after all: their next mail is.
async fn give_back(tx: &mut Tx<'_>, person: PersonId, address: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from away_replied where workspace_id = $1 and person_id = $2 and address = $3",
        workspace,
        person.0,
        address
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Forgets everybody who was answered for somebody who is back, or left.
pub async fn forget_of(tx: &mut Tx<'_>, person: PersonId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("delete from away_replied where workspace_id = $1 and person_id = $2", workspace, person.0)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Forgets those whose period is over.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "away_replied", "ends_at", now, 1000)
}
