//! What somebody writes on a secure page: mail of theirs that never was one. It is inbound and secure, opens the conversation
//! again, moves the turn and is told as `client.replied` with `secure: true` (6.2, D238). The same form sent twice is one.

use chrono::NaiveDate;

use crate::conversations::lock::lock_any;
use crate::conversations::notifications;
use crate::conversations::reports::count::shard;
use crate::conversations::search::pending;
use crate::conversations::secure::SHOWN;
use crate::conversations::secure::files::{self, SealedFile};
use crate::conversations::secure::page::SecurePage;
use crate::conversations::secure::vault::{SealedKind, Vault};
use crate::conversations::transitions::{Trigger, apply};
use crate::events::event::{ClientReplied, Event};
use crate::events::record::record;
use crate::workspace::access::By;
use rookery_base::error::Result;
use rookery_base::ids::MessageId;
use rookery_base::live::topic::LiveTopic;
use rookery_base::secrets::hashes::{number, sha256};
use rookery_base::store::db::Tx;

pub struct SecureAnswer<'a> {
    pub text: &'a str,
    pub files: &'a [SealedFile],
    /// Drawn when the form was made: whatever comes with the same is the same.
    pub once: &'a str,
}

/// Why nothing was written. The caller has to roll back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerRefusal {
    /// It is there already.
    Duplicate,
    /// The link was taken back or ended while the answer was on its way.
    Ended,
}

/// Writes it down.
pub async fn write(
    tx: &mut Tx<'_>,
    vault: &Vault,
    page: &SecurePage,
    answer: SecureAnswer<'_>,
) -> Result<Result<MessageId, AnswerRefusal>> {
    let conversation = lock_any(tx, page.conversation).await?;
    if !page.lives_still(tx).await? {
        return Ok(Err(AnswerRefusal::Ended));
    }
    let (workspace, now, message) = (tx.workspace().0, tx.now(), tx.mint::<MessageId>());
    let random = tx.frame().random.clone();
    let sealed = vault.seal(&random, SealedKind::Words, message, answer.text.as_bytes())?;
    let once = sha256(format!("secure {} {} {}", page.workspace, page.message, answer.once));
    let content_hash: Vec<u8> = once.iter().copied().chain([0]).collect();
    let contact = &conversation.contact;
    let name = contact.name.as_ref().filter(|_| contact.email.as_deref() == Some(page.address.as_str()));
    let week: NaiveDate = page.zone.week(now);
    let inserted = sqlx::query!(
        "with joined as (
             update conversations
             set last_message_at = $3, snippet = $4, message_count = message_count + 1, last_item = last_item + 1,
                 last_item_at = $3
             where workspace_id = $1 and id = $2
             returning last_item),
         counted as (
             insert into report_counts as kept (workspace_id, mailbox_id, what, week, shard, n)
             select $1, $6, 'arrived', $14, $15, 1 where $16
             on conflict (workspace_id, mailbox_id, what, week, shard) do update set n = kept.n + 1)
         insert into messages
             (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_name, from_email, text, channel,
              sealed, id_hash, content_hash, verdict, placed, to_addresses, cc_addresses, answers)
         select $1, $2, $5, $6, last_item, $3, 'inbound', $7, $8, $4, 'secure', $9, $10, $11, '{}', $12,
                array[$13], '{}', $17
         from joined
         on conflict (workspace_id, mailbox_id, id_hash, content_hash) where direction = 'inbound' do nothing",
        workspace,
        conversation.id.0,
        now,
        SHOWN,
        message.0,
        conversation.mailbox_id.0,
        name,
        page.address,
        sealed,
        number(once),
        content_hash,
        "written on a secure page",
        conversation.mailbox_address,
        week,
        shard(conversation.id),
        conversation.livemode(),
        page.message.0
    )
    .execute(&mut **tx)
    .await?;
    if inserted.rows_affected() == 0 {
        return Ok(Err(AnswerRefusal::Duplicate));
    }
    files::name(tx, message, answer.files).await?;
    pending::note_message(tx, conversation.id, message).await?;
    apply(tx, &conversation, Trigger::CustomerWrote, &By::System).await?;
    let replied = ClientReplied {
        conversation_id: conversation.id,
        message_id: message,
        mailbox_id: conversation.mailbox_id,
        secure: true,
        reference: conversation.reference.clone(),
    };
    record(tx, conversation.event_context(), &Event::ClientReplied(replied)).await?;
    tx.touch(conversation.audience, LiveTopic::Messages);
    if conversation.livemode() {
        let who = name.map_or(page.address.as_str(), String::as_str);
        notifications::replied(tx, &conversation, who).await?;
    }
    Ok(Ok(message))
}
