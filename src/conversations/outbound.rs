//! A message of ours on a conversation (specification 3.3): a draft, or scheduled with its due time.
//!
//! A draft is not mail yet: it is neither counted nor found, and it moves no time. What is scheduled is.

use chrono::{DateTime, Utc};

use crate::conversations::conversation::{Locked, MemberId};
use crate::conversations::inbound::SNIPPET;
use crate::conversations::search;
use crate::db::Tx;
use crate::error::Result;
use crate::ids::MessageId;
use crate::text;

pub struct Outbound<'a> {
    pub message: MessageId,
    pub author: MemberId,
    pub text: &'a str,
    /// One line for the person who approves it.
    pub summary: Option<String>,
    /// When it leaves. Without a time it is a draft.
    pub sends_at: Option<DateTime<Utc>>,
}

pub async fn add(tx: &mut Tx<'_>, conversation: &Locked, outbound: Outbound<'_>) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let scheduled = outbound.sends_at.is_some();
    let (author_type, author_id) = outbound.author.columns();
    // Fixed now, so that every later try of this message carries the same one; and unguessable, so that
    // only who got the mail can answer it.
    let domain = conversation.mailbox_address.rsplit('@').next().unwrap_or_default();
    let rfc_message_id = format!("{}.{}@{domain}", outbound.message, tx.frame().random.hex(32));
    sqlx::query!(
        "with numbered as (
             update conversations
             set last_item = last_item + 1,
                 message_count = message_count + $4::bool::int,
                 last_message_at = case when $4 then $5 else last_message_at end,
                 snippet = case when $4 then $6 else snippet end
             where workspace_id = $1 and id = $2
             returning last_item, mailbox_id)
         insert into messages
             (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sends_at, from_name,
              from_email, text, rfc_message_id, author_type, author_id, summary)
         select $1, $2, $3, mailbox_id, last_item, $5, 'outbound', case when $4 then 'scheduled' else 'draft' end,
             $7, $8, $9, $10, $11, $12, $13, $14
         from numbered",
        workspace,
        conversation.id.0,
        outbound.message.0,
        scheduled,
        now,
        text::snippet(outbound.text, SNIPPET),
        outbound.sends_at,
        conversation.mailbox_name,
        conversation.mailbox_address,
        outbound.text,
        rfc_message_id,
        author_type,
        author_id,
        outbound.summary
    )
    .execute(&mut **tx)
    .await?;
    if scheduled {
        search::note(tx, conversation.id).await?;
    }
    Ok(())
}
