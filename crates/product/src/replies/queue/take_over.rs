//! Taking a draft over: it becomes what the person is writing themselves in that conversation, with its addressees, files
//! and the documents it asks for, and is a draft for others no more. What they had begun there is kept beside it.
//!
//! A mail of a person that was stopped is taken back to what they had typed: its signature and what it passes on are put
//! under the words again when it is sent.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::documents::request::{self, Carrier};
use crate::documents::uploads::again;
use crate::replies::approve::is_confirmed;
use crate::replies::asking;
use crate::replies::drafts::{self, DraftKind, DraftWords, Save, Saved, pictures};
use crate::replies::queue::edit::lock_draft;
use crate::replies::ready::signature;
use crate::replies::{forward, secure};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::messages::message::Author;
use rookery_core::conversations::messages::{html, outbound, revision};
use rookery_core::conversations::secure::page::Way;
use rookery_core::conversations::secure::words::is_remembered;
use rookery_core::conversations::timeline::{self, Attachment};
use rookery_core::workspace::agents::days::{self, AgentMessageFate};
use rookery_core::workspace::people::Person;
use rookery_core::workspace::signatures::pictures::is_signature_picture;
use rookery_reading::html::written;
use rookery_reading::text;

/// What the person had made of the draft already, and when the text that they began with was last changed.
#[derive(Clone, Copy, Debug)]
pub struct TypedDraft<'a> {
    pub body: &'a str,
    pub shown: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeOver {
    /// Where it is written on, and as what.
    Over(ConversationId, DraftKind),
    /// Somebody else changed the draft after it was shown.
    Crossed,
    /// An assistant wrote something that the team has not written before, and nobody has confirmed it.
    Unconfirmed,
}

pub async fn take_over(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    typed: Option<TypedDraft<'_>>,
    confirmed: &[String],
) -> Result<TakeOver> {
    let (conversation, draft) = lock_draft(tx, person, message).await?;
    let opened = if draft.secure { Some(secure::taken_back(tx, message).await?) } else { None };
    // What stands in the place of sealed words was not typed by anybody.
    let typed = typed.filter(|_| !draft.secure);
    let stands = opened.as_deref().unwrap_or(draft.written.as_deref().unwrap_or(&draft.text));
    let body = match typed {
        Some(typed) => {
            let body = text::lines(typed.body);
            if body != stands && revision::edited_at(tx, &conversation, message).await? != typed.shown {
                return Ok(TakeOver::Crossed);
            }
            body
        }
        None => stands.to_owned(),
    };
    if !is_confirmed(tx, &conversation, &draft, Some(&body), confirmed).await? {
        return Ok(TakeOver::Unconfirmed);
    }
    let carrier = Carrier { conversation: conversation.id, message };
    let asked = request::of_message(tx, person.workspace, carrier).await?;
    // Who writes on has the link before them, and can move it.
    let body = match again::of_message(tx, person.workspace, message).await? {
        Some(asks) => asks.under(&body, &asks.link(app, person.workspace)?),
        None => body,
    };
    let language = asked.as_ref().and_then(|asked| asked.language);
    let documents =
        asked.map(|asked| asking::write(asked.items.iter().map(|listed| &listed.item), asked.due));
    let row = sqlx::query!(
        r#"select m.from_email, to_addresses, cc_addresses, bcc_addresses, m.subject, answers as "answers: MessageId",
               forwards as "forwards: MessageId", signature, c.last_item, p.proof as "proof?: Way"
           from messages m join conversations c on c.workspace_id = $1 and c.id = $2
           left join secure_pages p on p.workspace_id = $1 and p.message_id = m.id
           where m.workspace_id = $1 and m.conversation_id = $2 and m.id = $3"#,
        person.workspace.0,
        conversation.id.0,
        message.0
    )
    .fetch_one(&mut **tx)
    .await?;
    let line = |addresses: Option<Vec<String>>| addresses.unwrap_or_default().join(", ");
    let kind = if row.forwards.is_some() { DraftKind::Forward } else { DraftKind::Reply };
    // An agent's draft is never secure, but who writes on does so as the team wrote last. One's own is as it was sent.
    let secure = draft.secure
        || (kind == DraftKind::Reply
            && !draft.is_own_of(person)
            && is_remembered(tx, person.workspace, &conversation).await?);
    let typed = words_of(tx, &conversation, &body, row.forwards, row.signature.as_deref()).await?;
    let html = if secure { String::new() } else { formatting(tx, message, &typed.words).await? };
    let words = DraftWords {
        mailbox: None,
        about: row.forwards.or(row.answers),
        from: row.from_email,
        // What an agent wrote goes to the contact.
        to: line(row.to_addresses.or_else(|| conversation.contact.email.clone().map(|email| vec![email]))),
        cc: line(row.cc_addresses),
        bcc: line(row.bcc_addresses),
        subject: row.subject.unwrap_or_default(),
        // It is put above its files, which this draft gets first.
        html: String::new(),
        body: typed.words,
        documents: documents.unwrap_or_default(),
        language,
        secure,
        proof: row.proof.unwrap_or_default(),
        seen: row.last_item,
    };
    let keys = tx.frame().keys.clone();
    let begun = drafts::of_conversation(tx, keys.as_deref(), person, &conversation, kind).await?;
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
    // The signature and its pictures are put under the words again when they are sent.
    let of_mail = |file: &&Attachment| !file.content_id.as_deref().is_some_and(is_signature_picture);
    let attachments: Vec<Attachment> = draft.attachments.iter().filter(of_mail).cloned().collect();
    pictures::take_back(tx, own, &attachments, &html).await?;
    if typed.is_cut {
        let whole = Save { words: DraftWords { body, html: String::new(), ..save.words.clone() }, ..save };
        drafts::keep_beside(tx, own, &whole).await?;
    }
    let data = json!({ "messageId": message, "reason": "taken-over" });
    timeline::append(tx, conversation.id, &person.by(), "draft-discarded", data).await?;
    request::cancel(tx, carrier, &person.by()).await?;
    outbound::discard(tx, &conversation, message).await?;
    if let Author::Agent(agent) = draft.author {
        days::count(tx, agent, conversation.audience, AgentMessageFate::Discarded).await?;
    }
    Ok(TakeOver::Over(conversation.id, kind))
}

/// How the words were formatted, without the signature, if somebody had formatted them and nobody has changed them.
async fn formatting(tx: &mut Tx<'_>, message: MessageId, words: &str) -> Result<String> {
    let workspace = tx.workspace();
    let Some(stored) = html::formatting(tx, workspace, message).await? else { return Ok(String::new()) };
    let own = match &stored.signature {
        // Words that nobody formatted are only text again.
        Some(signature) => written::unsigned(&stored.html, signature).and_then(written::stored),
        None => Some(stored.html),
    };
    Ok(own.filter(|own| written::under(own, words) == Some("")).unwrap_or_default())
}

struct Unsent {
    words: String,
    /// Somebody had changed what stands under the words, which goes as it was at first: theirs is kept beside it.
    is_cut: bool,
}

/// The words of a mail without what was put under them.
async fn words_of(
    tx: &mut Tx<'_>,
    conversation: &Conversation,
    body: &str,
    forwards: Option<MessageId>,
    signed: Option<&str>,
) -> Result<Unsent> {
    let workspace = tx.workspace();
    let passed = match forwards {
        Some(about) => match forward::find(tx, workspace, conversation, about).await {
            Err(Error::Missing(_)) => None,
            found => Some(found?),
        },
        None => None,
    };
    let note = passed.as_ref().and_then(|passed| passed.note_above(body, &conversation.subject));
    let (note, is_whole) = note.unwrap_or((body, true));
    Ok(Unsent { words: signature::unsigned(note, signed.unwrap_or_default()), is_cut: !is_whole })
}
