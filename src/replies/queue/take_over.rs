//! Taking a draft over: it becomes what the person is writing themselves in that conversation, with its addressees, files
//! and the documents it asks for, and is a draft for others no more. What they had begun there is kept beside it.

use serde_json::json;
use sqlx::types::Json;

use crate::conversations::messages::outbound;
use crate::conversations::timeline::{self, Attachment};
use crate::documents::request::{self, Carrier};
use crate::error::{Error, Result};
use crate::ids::{ConversationId, MessageId};
use crate::replies::drafts::{self, Kind, Save, Saved, Words};
use crate::replies::queue::edit::lock_draft;
use crate::store::db::Tx;
use crate::workspace::people::Person;

/// Gives the conversation, where it is written on. `body` is what the person had made of it already.
pub async fn take_over(
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    body: Option<&str>,
) -> Result<ConversationId> {
    let (conversation, draft) = lock_draft(tx, person, message).await?;
    let carrier = Carrier { conversation: conversation.id, message };
    let asked = request::of_message(tx, carrier).await?;
    let labels = asked.iter().flat_map(|asked| &asked.items).map(|listed| listed.item.label.as_str());
    let row = sqlx::query!(
        r#"select to_addresses, cc_addresses, bcc_addresses, m.subject, answers as "answers: MessageId",
               forwards as "forwards: MessageId", attachments as "attachments: Json<Vec<Attachment>>", c.last_item
           from messages m join conversations c on c.workspace_id = $1 and c.id = $2
           where m.workspace_id = $1 and m.conversation_id = $2 and m.id = $3"#,
        person.workspace.0,
        conversation.id.0,
        message.0
    )
    .fetch_one(&mut **tx)
    .await?;
    let line = |addresses: Option<Vec<String>>| addresses.unwrap_or_default().join(", ");
    let kind = if row.forwards.is_some() { Kind::Forward } else { Kind::Reply };
    let words = Words {
        mailbox: None,
        about: row.forwards.or(row.answers),
        // What an agent wrote goes to the contact.
        to: line(row.to_addresses.or_else(|| conversation.contact.email.clone().map(|email| vec![email]))),
        cc: line(row.cc_addresses),
        bcc: line(row.bcc_addresses),
        subject: row.subject.unwrap_or_default(),
        body: body.unwrap_or(draft.written.as_deref().unwrap_or(&draft.text)).to_owned(),
        documents: labels.collect::<Vec<_>>().join("\n"),
        seen: row.last_item,
    };
    let begun = drafts::of_conversation(tx, person, &conversation, kind).await?;
    let save = Save {
        draft: begun.as_ref().map_or_else(|| tx.mint(), |begun| begun.id),
        kind,
        base: begun.as_ref().map_or(0, |begun| begun.version),
        page: "",
        save: 0,
        over: begun.is_some(),
        words,
    };
    let Saved::Kept { draft: own, .. } = drafts::save(tx, person, Some(&*conversation), &save).await? else {
        return Err(Error::problem("message", "cannot be taken over while you write there. Try again"));
    };
    // What is passed on brings its files by itself.
    for file in row.attachments.0.iter().filter(|_| kind == Kind::Reply) {
        drafts::add_file(tx, own, file, false).await?;
    }
    let data = json!({ "messageId": message, "reason": "taken-over" });
    timeline::append(tx, conversation.id, &person.by(), "draft-discarded", data).await?;
    request::cancel(tx, carrier, &person.by()).await?;
    outbound::discard(tx, &conversation, message).await?;
    Ok(conversation.id)
}
