//! Writing a reply (specification 4.8): the message, its document request and its due time in one commit.
//! It goes to the conversation's contact and to nobody else. Nothing leaves here: a scheduled message is a
//! row with a time, and the worker sends it.

use chrono::{DateTime, Utc};

use crate::app::App;
use crate::conversations::conversation::Locked;
use crate::conversations::inbound::SNIPPET;
use crate::conversations::search;
use crate::db::Tx;
use crate::documents::request::{self, Asked, Carrier};
use crate::error::{Error, Result};
use crate::ids::{DocumentRequestId, MessageId};
use crate::text;
use crate::workspace::access::Actor;

pub struct NewReply<'a> {
    pub body: &'a str,
    /// One line for the person who approves it.
    pub summary: Option<&'a str>,
    pub asks: Option<Asked>,
    /// Leaves after the undo window, instead of waiting for a person.
    pub send: bool,
}

#[derive(Debug)]
pub struct Written {
    pub message: MessageId,
    /// When it leaves; a draft has no such time.
    pub sends_at: Option<DateTime<Utc>>,
    pub request: Option<DocumentRequestId>,
}

pub async fn write(
    app: &App,
    tx: &mut Tx<'_>,
    conversation: &Locked,
    author: &Actor,
    reply: NewReply<'_>,
) -> Result<Written> {
    if conversation.contact.email.is_none() {
        return Err(Error::problem("body", "this conversation has no address to reply to"));
    }
    let message: MessageId = tx.mint();
    let request = reply.asks.as_ref().map(|_| tx.mint::<DocumentRequestId>());
    let sends_at = reply.send.then(|| tx.now() + app.config.undo_window(conversation.livemode()));
    let mut body = text::lines(reply.body);
    if let (Some(asked), Some(id)) = (&reply.asks, request) {
        let link = match (reply.send, &app.config.secret_key) {
            (true, Some(key)) => Some(request::link(key, &app.config.public_url, tx.workspace(), id, 0)),
            (true, None) => return Err(Error::internal("ROOKERY_SECRET_KEY is missing")),
            (false, _) => None,
        };
        body = format!("{}\n\n{}", body.trim_end(), request::checklist(asked, link.as_deref()));
    }
    insert(tx, conversation, author, message, &body, reply.summary, sends_at).await?;
    if let (Some(asked), Some(id)) = (&reply.asks, request) {
        request::create(tx, id, Carrier { conversation: conversation.id, message }, asked).await?;
    }
    // A draft is not mail yet: it is neither counted nor found.
    if reply.send {
        search::note(tx, conversation.id).await?;
    }
    Ok(Written { message, sends_at, request })
}

async fn insert(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    author: &Actor,
    message: MessageId,
    body: &str,
    summary: Option<&str>,
    sends_at: Option<DateTime<Utc>>,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let status = if sends_at.is_some() { "scheduled" } else { "draft" };
    // Fixed now, so that every later try of this message carries the same one; and unguessable, so that
    // only who got the mail can answer it.
    let domain = conversation.mailbox_address.rsplit('@').next().unwrap_or_default();
    let rfc_message_id = format!("{message}.{}@{domain}", tx.frame().random.hex(32));
    sqlx::query!(
        "with numbered as (
             update conversations
             set last_item = last_item + 1,
                 message_count = message_count + case when $6 = 'scheduled' then 1 else 0 end,
                 last_message_at = case when $6 = 'scheduled' then $5 else last_message_at end,
                 snippet = case when $6 = 'scheduled' then $12 else snippet end
             where workspace_id = $1 and id = $2
             returning last_item, mailbox_id)
         insert into messages
             (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sends_at, from_name,
              from_email, text, rfc_message_id, author_type, author_id, summary)
         select $1, $2, $3, mailbox_id, last_item, $5, 'outbound', $6, $7, $8, $9, $10, $11, 'agent', $4, $13
         from numbered",
        workspace,
        conversation.id.0,
        message.0,
        author.agent.0,
        now,
        status,
        sends_at,
        conversation.mailbox_name,
        conversation.mailbox_address,
        body,
        rfc_message_id,
        text::snippet(body, SNIPPET),
        summary.map(text::line)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
