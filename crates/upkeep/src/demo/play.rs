//! Plays a story step by step: the clock stands where the step happened, and the step is the verb that real mail, a
//! person's page or an agent's call would use.
//!
//! What was answered in the past has left in the past: it is written, claimed and sent in one transaction, so that no
//! node finds it due meanwhile. Nothing is handed to a relay.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::demo::cast::Cast;
use crate::demo::letter;
use crate::demo::story::{Does, Incoming, Story, StoryStep};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentRequestId, MessageId, WorkspaceId};
use rookery_base::relay::mailer::Refusal;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::find_visible;
use rookery_core::conversations::lock::{lock_any, lock_visible};
use rookery_core::conversations::messages::sending;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::{assign, notes, snooze, tags, transitions, unread};
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;
use rookery_mail::outgoing::send;
use rookery_product::documents::items::{self, ChecklistItem};
use rookery_product::documents::request::RequestForm;
use rookery_product::documents::uploads::decide::{self, Decision};
use rookery_product::replies::write::{self, NewReply, WrittenReply};
use rookery_product::replies::{approve, discard, undo};

/// Of answers that have left; those of the last minutes have the window of the settings.
const PAST_WINDOW: u32 = 60;

pub struct Play<'a> {
    pub app: &'a mut App,
    pub workspace: WorkspaceId,
    pub cast: &'a Cast,
    pub now: DateTime<Utc>,
    /// What answers get that can still be stopped.
    pub window: u32,
    pub scenes: HashMap<usize, Scene>,
}

/// What a story has come to.
#[derive(Default)]
pub struct Scene {
    conversation: Option<ConversationId>,
    /// The Message-IDs so far, the customer's and ours: an answer is known by ours.
    pub(super) chain: Vec<String>,
    draft: Option<MessageId>,
    /// The newest that went as a secure link.
    pub(super) secure: Option<MessageId>,
    /// The newest request for documents.
    pub(super) request: Option<DocumentRequestId>,
}

impl Scene {
    pub(super) fn conversation(&self) -> Result<ConversationId> {
        self.conversation.ok_or_else(|| Error::internal("a story does not begin with a mail"))
    }
}

impl Play<'_> {
    /// One step of the story with this number. `next` is what comes after it.
    pub async fn step(
        &mut self,
        number: usize,
        story: &Story,
        at: DateTime<Utc>,
        step: &StoryStep,
        next: Option<&Does>,
    ) -> Result<()> {
        let mut scene = self.scenes.remove(&number).unwrap_or_default();
        self.set_clock(at);
        self.app.config.undo_window_seconds = self.window_at(at, next);
        let played = match &step.does {
            Does::In(mail) => self.arrive(number, story, &mut scene, mail, at).await,
            Does::Later(who, time, body) => self.send_later(&scene, who, body, time.after(self.now)).await,
            Does::Secure(who, body) => self.send_secure(&mut scene, who, body).await,
            Does::Read => self.read_secure(&scene).await,
            Does::Upload(line, file) => self.upload(&scene, story, *line, file).await,
            Does::Book(slug, time) => self.book_offered(&scene, story, slug, time.after(self.now)).await,
            does => self.act(&mut scene, does).await,
        };
        self.scenes.insert(number, scene);
        played.map_err(|error| Error::internal(format!("{}: {error}", story.subject)))
    }

    fn set_clock(&self, at: DateTime<Utc>) {
        self.app.clock.advance(at - self.app.clock.now());
    }

    fn window_at(&self, at: DateTime<Utc>, next: Option<&Does>) -> u32 {
        match next {
            // It must not be due before it is stopped, whatever the time is outside.
            Some(Does::Undo(_)) => u32::try_from((self.now - at).num_seconds() + 3600).unwrap_or(u32::MAX),
            _ if self.is_leaving(at) => self.window,
            _ => PAST_WINDOW,
        }
    }

    pub(super) fn is_leaving(&self, at: DateTime<Utc>) -> bool {
        at + TimeDelta::seconds(i64::from(self.window)) > self.now
    }

    /// Everybody has read what this story has come to.
    pub async fn all_have_read(&self, number: usize) -> Result<()> {
        let Some(id) = self.scenes.get(&number).and_then(|scene| scene.conversation) else { return Ok(()) };
        let mut tx = self.app.begin(self.workspace).await?;
        for person in self.cast.people() {
            let conversation = find_visible(&mut tx, person, self.now, &id.to_string()).await?;
            unread::seen(&mut tx, person, &conversation).await?;
        }
        tx.commit().await
    }

    async fn arrive(
        &self,
        number: usize,
        story: &Story,
        scene: &mut Scene,
        mail: &Incoming,
        at: DateTime<Utc>,
    ) -> Result<()> {
        let mailbox = self.cast.inbox(&story.inbox)?;
        let domain = story.email.rsplit('@').next().unwrap_or_default();
        let id = format!("{number}.{}.{}@{domain}", scene.chain.len(), self.workspace);
        let raw = letter::raw(story, mail, &mailbox.address, &id, &scene.chain, at)?;
        let delivery = Delivery::from_raw(mailbox.clone(), raw, Dmarc::Pass);
        match receive(self.app, self.workspace, delivery).await? {
            Received::Stored(stored) => {
                scene.conversation.get_or_insert(stored.conversation);
                scene.chain.push(id);
                if scene.conversation == Some(stored.conversation) {
                    Ok(())
                } else {
                    Err(Error::internal("a mail went into another conversation"))
                }
            }
            Received::Duplicate(_) => Err(Error::internal("this mail is there already")),
            Received::Refused(refusal) => Err(Error::internal(refusal)),
        }
    }

    async fn act(&mut self, scene: &mut Scene, does: &Does) -> Result<()> {
        let id = scene.conversation()?;
        let (cast, past) = (self.cast, !self.is_leaving(self.app.clock.now()));
        let app = &*self.app;
        let mut tx = app.begin(self.workspace).await?;
        match does {
            // These have transactions of their own.
            Does::In(_)
            | Does::Later(..)
            | Does::Secure(..)
            | Does::Read
            | Does::Upload(..)
            | Does::Book(..) => {}
            Does::Out(who, body, arrives) => {
                let new = NewReply { body, summary: None, asks: None, send: true };
                let message = reply(app, &mut tx, cast, id, who, new).await?.message;
                scene.chain.extend(self.leave(&mut tx, id, message, past, *arrives).await?);
            }
            Does::Ask(who, papers, body) => {
                let item = |label: &String| ChecklistItem {
                    label: label.clone(),
                    description: None,
                    required: true,
                };
                let due = papers.due.map(|days| (self.now + TimeDelta::days(days)).date_naive());
                let items = papers.items.iter().map(item).collect();
                let asked = RequestForm { items, due, language: None };
                let new = NewReply { body, summary: None, asks: Some(asked), send: true };
                let written = reply(app, &mut tx, cast, id, who, new).await?;
                scene.request = written.request;
                scene.chain.extend(self.leave(&mut tx, id, written.message, past, true).await?);
            }
            Does::Draft(who, summary, body) => {
                let new = NewReply { body, summary: Some(summary), asks: None, send: false };
                let draft = reply(app, &mut tx, cast, id, who, new).await?;
                scene.draft = Some(draft.message);
            }
            Does::Approve(who, words) => {
                let draft = drafted(scene)?;
                let edited = Some(words.as_str()).filter(|words| !words.is_empty());
                approve::approve(app, &mut tx, cast.person(who)?, draft, edited).await?;
                let stays = i64::from(app.config.undo_window_seconds) != i64::from(PAST_WINDOW);
                scene.chain.extend(self.leave(&mut tx, id, draft, past && !stays, true).await?);
            }
            Does::Undo(who) => {
                undo::undo(&mut tx, cast.person(who)?, drafted(scene)?).await?;
            }
            Does::Discard(who) => {
                discard::discard(&mut tx, cast.person(who)?, drafted(scene)?, None).await?;
            }
            Does::Accept(who, line) => {
                let request = scene.request.ok_or_else(|| Error::internal("nothing was asked for"))?;
                let listed = items::load(&mut tx, self.workspace, request).await?;
                let item =
                    listed.get(line.wrapping_sub(1)).ok_or_else(|| Error::internal("no such line"))?.id;
                decide::decide(&mut tx, cast.person(who)?, request, item, Decision::Accept).await?;
            }
            Does::Note(who, body) => {
                let actor = cast.actor(who)?;
                let conversation = lock_visible(&mut tx, actor, &id.to_string()).await?;
                notes::add(&mut tx, &conversation, actor, body).await?;
            }
            Does::Tag(who, added) => {
                let actor = cast.actor(who)?;
                let conversation = lock_visible(&mut tx, actor, &id.to_string()).await?;
                tags::change(&mut tx, &conversation, actor, added, &[]).await?;
            }
            Does::Assign(who, to) => {
                let actor = cast.actor(who)?;
                let to = assign::To::Member(cast.actor(to)?.member);
                let conversation = lock_visible(&mut tx, actor, &id.to_string()).await?;
                assign::assign(&mut tx, &conversation, actor, to).await?;
            }
            Does::Close(who) => {
                let actor = cast.actor(who)?;
                let conversation = lock_visible(&mut tx, actor, &id.to_string()).await?;
                transitions::set_status(&mut tx, &conversation, actor, Status::Closed).await?;
            }
            Does::Snooze(who, until) => {
                let actor = cast.actor(who)?;
                let conversation = lock_visible(&mut tx, actor, &id.to_string()).await?;
                snooze::until(&mut tx, &conversation, actor, until.after(self.now)).await?;
            }
        }
        tx.commit().await
    }

    /// It has left when its window was over, or it did not arrive. Gives the Message-ID of what has left.
    pub(super) async fn leave(
        &self,
        tx: &mut Tx<'_>,
        id: ConversationId,
        message: MessageId,
        past: bool,
        arrives: bool,
    ) -> Result<Option<String>> {
        if !past {
            return Ok(None);
        }
        self.app.clock.advance(TimeDelta::seconds(i64::from(PAST_WINDOW)));
        let conversation = lock_any(tx, id).await?;
        let now = tx.now();
        let claimed = sending::claim(tx, false, now, now + TimeDelta::minutes(1)).await?;
        let ours = claimed.iter().find(|claimed| claimed.letter.message == message);
        let ours = ours
            .ok_or_else(|| Error::internal("Other mail is waiting to leave. Run `rookery serve` first."))?;
        if arrives {
            send::sent(tx, &conversation, ours).await?
        } else {
            sending::failed(tx, &conversation, ours, Refusal::NoSuchAddress).await?
        };
        Ok(Some(ours.letter.rfc_message_id.clone()))
    }
}

fn drafted(scene: &Scene) -> Result<MessageId> {
    scene.draft.ok_or_else(|| Error::internal("there is no draft in this story"))
}

async fn reply(
    app: &App,
    tx: &mut Tx<'_>,
    cast: &Cast,
    id: ConversationId,
    who: &str,
    new: NewReply<'_>,
) -> Result<WrittenReply> {
    let actor = cast.actor(who)?;
    let conversation = lock_visible(tx, actor, &id.to_string()).await?;
    write::write(app, tx, &conversation, actor, new, Vec::new()).await
}
