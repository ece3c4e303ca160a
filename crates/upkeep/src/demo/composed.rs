//! What people write in the app and not an agent over the API: a draft with its button, sent at a time they choose or as a
//! secure link. The draft is kept before it is sent, as a page keeps it.

use chrono::{DateTime, Utc};

use crate::demo::play::{Play, Scene};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::find_visible;
use rookery_core::workspace::people::Person;
use rookery_product::replies::drafts::{self, DraftKind, DraftWords, Save, Saved};
use rookery_product::replies::secure;
use rookery_product::replies::send::{self, Click, SendOutcome, SentItem, SentReply};

impl Play<'_> {
    /// It leaves by itself, later.
    pub async fn send_later(&self, scene: &Scene, who: &str, body: &str, at: DateTime<Utc>) -> Result<()> {
        let (id, person) = (scene.conversation()?, self.cast.person(who)?);
        let words = DraftWords { body: body.to_owned(), ..DraftWords::default() };
        let mut tx = self.app.begin(self.workspace).await?;
        let click = Click { at: Some(at), ..keep(&mut tx, person, id, words).await? };
        sent(send::send(self.app, &mut tx, person, click, None).await?)?;
        tx.commit().await
    }

    /// The mail has only a link; the text is sealed. Gives the message when it has left.
    pub async fn send_secure(&self, scene: &mut Scene, who: &str, body: &str) -> Result<()> {
        let (id, person) = (scene.conversation()?, self.cast.person(who)?);
        let words = DraftWords { body: body.to_owned(), secure: true, ..DraftWords::default() };
        let mut tx = self.app.begin(self.workspace).await?;
        let click = Click { secure: words.way(), ..keep(&mut tx, person, id, words).await? };
        // It is sealed from what is stored.
        tx.commit().await?;
        let prepared = secure::prepare(self.app, person, click.draft, None).await?;
        let mut tx = self.app.begin(self.workspace).await?;
        let message = sent(send::send(self.app, &mut tx, person, click, prepared.as_ref()).await?)?;
        let past = !self.is_leaving(self.app.clock.now());
        let left = self.leave(&mut tx, id, message, past, true).await?;
        tx.commit().await?;
        scene.secure = Some(message);
        scene.chain.extend(left);
        Ok(())
    }
}

/// Keeps the draft, to whoever wrote, and gives the click on its button.
async fn keep(tx: &mut Tx<'_>, person: &Person, id: ConversationId, words: DraftWords) -> Result<Click> {
    let now = tx.now();
    let conversation = find_visible(tx, person, now, &id.to_string()).await?;
    let to = conversation.contact.email.clone().unwrap_or_default();
    let words = DraftWords { to, seen: conversation.last_item, ..words };
    let draft = tx.mint();
    let save =
        Save { draft, kind: DraftKind::Reply, base: 0, page: "demonstration", save: 1, over: false, words };
    match drafts::save(tx, person, Some(&conversation), &save).await? {
        Saved::Kept { draft, version, .. } => {
            Ok(Click { draft, version, close: false, at: None, secure: None })
        }
        Saved::Newer(_) | Saved::Gone => Err(Error::internal("somebody else writes in a demonstration")),
    }
}

fn sent(outcome: SendOutcome) -> Result<MessageId> {
    match outcome {
        SendOutcome::Sent(SentReply { what: SentItem::Message(message), .. }) => Ok(message),
        other => Err(Error::internal(format!("a reply of the demonstration was not sent: {other:?}"))),
    }
}
