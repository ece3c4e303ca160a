//! Approving a draft (specification 3.3): a person lets it go, edited perhaps, and it leaves after the undo
//! window. Anyone who sees the inbox may; in the sandbox, which people do not see, a test key simulates it.
//!
//! Nobody approves unseen: when the customer wrote or somebody answered since, it stops until that was shown
//! (docs/decisions/outdated-drafts.md).

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::documents::request::Carrier;
use crate::replies::leaving::whole_text::{self, PrivateLink};
use crate::replies::queue::edit::{NOT_A_DRAFT, a_body, lock_draft};
use crate::replies::queue::foreign;
use crate::replies::queue::news::news;
use crate::replies::secure::SEALED;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::messages::message::Author;
use rookery_core::conversations::messages::outbound::{Ours, schedule};
use rookery_core::conversations::messages::revision;
use rookery_core::conversations::reports::count;
use rookery_core::conversations::timeline;
use rookery_core::events::event::{Doer, DraftApproved, Event};
use rookery_core::events::record::record;
use rookery_core::workspace::agents::days::{self, AgentMessageFate};
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::people::Person;

/// What the person had before them when they approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenDraft {
    /// The newest message that came after the draft.
    pub newest: Option<MessageId>,
    /// When the draft was last changed; nothing of one that was as it had been drafted.
    pub edited_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approved {
    /// At this time.
    Leaves(DateTime<Utc>),
    /// Something came that was not shown.
    Outdated,
    /// Somebody else changed the draft after it was shown.
    Crossed,
    /// An assistant wrote something that the team has not written before, and nobody has confirmed it.
    Unconfirmed,
    /// The conversation is held to be a fraud, and nobody has said that they looked.
    Risky,
}

/// Why one of many was not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// Its conversation is marked as risky, or it says something that has to be confirmed: that is looked at alone.
    Risky,
    Outdated,
    /// Somebody changed it after it was shown.
    Crossed,
    /// It is no draft any more, or not there for this person.
    Gone,
    /// It cannot be sent as it is, or something of ours went wrong.
    Failed,
}

/// `edited` is the body as the person wants it; the checklist is not part of it. It goes whatever happened since it was
/// written, and whatever the risk: nothing was shown, so nobody had a box to tick.
pub async fn approve(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    edited: Option<&str>,
) -> Result<Approved> {
    let (conversation, _) = lock_draft(tx, person, message).await?;
    let risk: Vec<String> = conversation.risk.as_deref().map(risk_key).into_iter().collect();
    approve_confirmed(app, tx, person, message, edited, None, &risk).await
}

/// What somebody confirms who approves a draft although its conversation is held to be a fraud. Another risk that is found
/// meanwhile has to be confirmed again.
pub fn risk_key(risk: &str) -> String {
    format!("risk {risk}")
}

/// The same of somebody who has confirmed what an assistant wrote and the team had not (`queue::foreign`), and the risk.
pub async fn approve_confirmed(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    edited: Option<&str>,
    shown: Option<SeenDraft>,
    confirmed: &[String],
) -> Result<Approved> {
    let (conversation, draft) = lock_draft(tx, person, message).await?;
    if let Some(shown) = shown {
        let since = news(tx, person.workspace, &[message]).await?.pop();
        if since.is_some_and(|since| Some(since.newest) != shown.newest) {
            return Ok(Approved::Outdated);
        }
        if revision::edited_at(tx, &conversation, message).await? != shown.edited_at {
            return Ok(Approved::Crossed);
        }
    }
    if !is_confirmed(tx, &conversation, &draft, edited, confirmed).await? {
        return Ok(Approved::Unconfirmed);
    }
    let risk = conversation.risk.as_deref().map(risk_key);
    if risk.is_some_and(|risk| !confirmed.contains(&risk)) {
        return Ok(Approved::Risky);
    }
    Ok(Approved::Leaves(let_go(app, tx, person, &conversation, &draft, edited).await?))
}

/// One of several, and when the draft that was listed had last been changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    pub message: MessageId,
    pub edited_at: Option<DateTime<Utc>>,
}

/// Each in a transaction of its own: one that cannot go keeps none of the others.
pub async fn approve_many(
    app: &App,
    workspace: WorkspaceId,
    person: &Person,
    picked: &[Picked],
) -> Vec<(MessageId, Result<DateTime<Utc>, Skipped>)> {
    let mut outcomes = Vec::with_capacity(picked.len());
    for picked in picked {
        let message = picked.message;
        let outcome = match one_of_many(app, workspace, person, *picked).await {
            Ok(outcome) => outcome,
            Err(Error::Missing(_)) => Err(Skipped::Gone),
            Err(error) => {
                tracing::warn!(%workspace, message_id = %message, %error, "a draft could not be approved with others");
                Err(Skipped::Failed)
            }
        };
        outcomes.push((message, outcome));
    }
    outcomes
}

async fn one_of_many(
    app: &App,
    workspace: WorkspaceId,
    person: &Person,
    Picked { message, edited_at }: Picked,
) -> Result<Result<DateTime<Utc>, Skipped>> {
    let mut tx = app.begin(workspace).await?;
    let (conversation, draft) = match lock_draft(&mut tx, person, message).await {
        Err(Error::Problems(_)) => return Ok(Err(Skipped::Gone)),
        locked => locked?,
    };
    if conversation.risk.is_some() {
        return Ok(Err(Skipped::Risky));
    }
    if !news(&mut tx, workspace, &[message]).await?.is_empty() {
        return Ok(Err(Skipped::Outdated));
    }
    if revision::edited_at(&mut tx, &conversation, message).await? != edited_at {
        return Ok(Err(Skipped::Crossed));
    }
    if !is_confirmed(&mut tx, &conversation, &draft, None, &[]).await? {
        return Ok(Err(Skipped::Risky));
    }
    let sends_at = let_go(app, &mut tx, person, &conversation, &draft, None).await?;
    tx.commit().await?;
    Ok(Ok(sends_at))
}

/// Whether everything is confirmed in what would leave, if an assistant drafted it.
pub(in crate::replies) async fn is_confirmed(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    draft: &Ours,
    edited: Option<&str>,
    confirmed: &[String],
) -> Result<bool> {
    if draft.author != Author::Assistant {
        return Ok(true);
    }
    let workspace = tx.workspace();
    let body = edited.unwrap_or(draft.written.as_deref().unwrap_or(&draft.text));
    let marks = foreign::marks(tx, workspace, conversation, body).await?;
    Ok(foreign::unconfirmed(marks, confirmed).is_empty())
}

async fn let_go(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: &Locked,
    draft: &Ours,
    edited: Option<&str>,
) -> Result<DateTime<Utc>> {
    let message = draft.id;
    let before = draft.written.as_deref().unwrap_or(&draft.text);
    let body = match edited {
        Some(edited) => a_body(edited)?,
        None => before.to_owned(),
    };
    if draft.secure && body != before {
        return Err(Error::problem("body", SEALED));
    }
    if conversation.contact.email.is_none() {
        return Err(Error::problem("message", "this conversation has no address to reply to"));
    }
    mailboxes::must_send(tx, conversation.mailbox_id, "message").await?;
    let carrier = Carrier { conversation: conversation.id, message };
    let whole = whole_text::compose(tx, person.workspace, carrier, &body, PrivateLink::Real(app)).await?;
    let sends_at = tx.now() + app.config.undo_window(conversation.livemode());
    let (text, written) = (whole.as_deref().unwrap_or(&body), whole.as_ref().map(|_| body.as_str()));
    if !schedule(tx, conversation, message, text, written, sends_at).await? {
        return Err(Error::problem("message", NOT_A_DRAFT));
    }
    let changed = (body != before).then_some(before);
    let drafted = revision::let_go(tx, conversation, message, person.id, changed).await?;
    let edited = drafted.is_some_and(|drafted| drafted != body);
    let mut data = json!({ "messageId": message, "edited": edited });
    // People see nothing of the sandbox, so nobody looked at it.
    if !conversation.livemode() {
        data["simulated"] = json!(true);
    }
    timeline::append(tx, conversation.id, &person.by(), "approved", data).await?;
    let approved = DraftApproved {
        conversation_id: conversation.id,
        message_id: message,
        drafted_by: draft.author.of_draft(),
        approved_by: Doer::from(&person.by()),
        edited,
    };
    record(tx, conversation.event_context(), &Event::DraftApproved(approved)).await?;
    count::one(
        tx,
        conversation,
        if edited { count::CountedApproval::Edited } else { count::CountedApproval::Approved },
    )
    .await?;
    if let Author::Agent(agent) = draft.author {
        let what = if edited { AgentMessageFate::Edited } else { AgentMessageFate::Approved };
        days::count(tx, agent, conversation.audience, what).await?;
    }
    Ok(sends_at)
}
