//! The state machine of status, snooze and turn: one table (specification 3.1, 3.2), and the one function that
//! applies it.
//!
//! A change writes the row, the timeline entries and, when the turn changed, the event in one transaction.
//! Everything that is not in the table changes none of them: notes, tags, assignment, drafts, approval and stopping a send.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::conversations::conversation::Locked;
use crate::conversations::status::Status;
use crate::conversations::timeline;
use crate::events::event::{Assignee, Event, Turn, TurnChanged};
use crate::events::record::record;
use crate::workspace::access::{Actor, By};
use rookery_base::clock::written;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::Tx;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A person's mail, or a reply on a secure page.
    CustomerWrote,
    /// Out-of-office, bounces, bulk.
    MachineWrote,
    /// A person's or an agent's message left, and the customer has not written since it was scheduled.
    Sent,
    /// The same, but the customer wrote meanwhile.
    SentAfterCustomerWrote,
    /// A reminder or other mail of the service's own left.
    ServiceMailSent,
    SendFailed,
    /// A bounce of the newest message came after it was sent.
    NewestBounced,
    /// A key or a person chose a status.
    StatusChosen(Status),
    SnoozeChosen(DateTime<Utc>),
    SnoozeRanOut,
    WokenByPerson,
    /// Somebody takes a change back: it is as it was before, snooze included.
    Undone(Status, Option<DateTime<Utc>>),
}

/// One row of the table: what becomes of each status, and of the snooze.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitionRow {
    pub open: Next,
    pub waiting: Next,
    pub closed: Next,
    pub snooze: Snooze,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Same,
    Becomes(Status),
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snooze {
    Same,
    Set(DateTime<Utc>),
    /// Ended, with the reason the timeline gives.
    Ended(&'static str),
}

impl Trigger {
    pub fn row(self) -> TransitionRow {
        use Next::{Becomes, Refused, Same};
        use Status::{Open, Waiting};
        let row = |open, waiting, closed, snooze| TransitionRow { open, waiting, closed, snooze };
        match self {
            Self::CustomerWrote => row(Same, Becomes(Open), Becomes(Open), Snooze::Ended("reply")),
            Self::MachineWrote => row(Same, Same, Same, Snooze::Same),
            Self::Sent => row(Becomes(Waiting), Same, Same, Snooze::Same),
            Self::SentAfterCustomerWrote => row(Same, Same, Same, Snooze::Same),
            Self::ServiceMailSent => row(Same, Same, Same, Snooze::Same),
            Self::SendFailed => row(Same, Same, Same, Snooze::Same),
            Self::NewestBounced => row(Same, Becomes(Open), Same, Snooze::Same),
            Self::StatusChosen(to) => row(Becomes(to), Becomes(to), Becomes(to), Snooze::Ended("status")),
            Self::SnoozeChosen(until) => row(Same, Same, Refused, Snooze::Set(until)),
            Self::SnoozeRanOut => row(Same, Becomes(Open), Same, Snooze::Ended("time")),
            Self::WokenByPerson => row(Same, Becomes(Open), Same, Snooze::Ended("manual")),
            Self::Undone(to, until) => {
                let snooze = until.map_or(Snooze::Ended("undo"), Snooze::Set);
                row(Becomes(to), Becomes(to), Becomes(to), snooze)
            }
        }
    }

    /// Why the status changed, as the timeline says it.
    fn reason(self) -> &'static str {
        match self {
            Self::CustomerWrote | Self::MachineWrote => "reply",
            Self::Sent | Self::SentAfterCustomerWrote | Self::ServiceMailSent => "sent",
            Self::SendFailed | Self::NewestBounced => "delivery-failed",
            Self::StatusChosen(_) => "set",
            Self::SnoozeChosen(_) | Self::SnoozeRanOut | Self::WokenByPerson => "unsnoozed",
            Self::Undone(..) => "undo",
        }
    }
}

impl TransitionRow {
    fn next_from(self, status: Status) -> Next {
        match status {
            Status::Open => self.open,
            Status::Waiting => self.waiting,
            Status::Closed => self.closed,
        }
    }
}

/// Somebody chooses a status (specification 4.5). The one it has already changes nothing.
pub async fn set_status(tx: &mut Tx<'_>, conversation: &Locked, actor: &Actor, status: Status) -> Result<()> {
    apply(tx, conversation, Trigger::StatusChosen(status), &actor.by()).await
}

/// Somebody takes a change back. A snooze that would be over by now stays ended.
pub async fn undo(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    actor: &Actor,
    status: Status,
    snoozed_until: Option<DateTime<Utc>>,
) -> Result<()> {
    let until = snoozed_until.filter(|until| *until > tx.now() && status != Status::Closed);
    apply(tx, conversation, Trigger::Undone(status, until), &actor.by()).await
}

/// Moves a conversation by the table.
pub async fn apply(tx: &mut Tx<'_>, conversation: &Locked, trigger: Trigger, by: &By) -> Result<()> {
    let row = trigger.row();
    let status = match row.next_from(conversation.status) {
        Next::Same => conversation.status,
        Next::Becomes(status) => status,
        Next::Refused => return Err(Error::problem("status", "a closed conversation cannot be snoozed")),
    };
    // Choosing the current status changes nothing, not even a snooze.
    if trigger == Trigger::StatusChosen(conversation.status) {
        return Ok(());
    }
    let snoozed_until = match row.snooze {
        Snooze::Same => conversation.snoozed_until,
        Snooze::Set(until) => Some(until),
        Snooze::Ended(_) => None,
    };
    let turn = status.turn();
    if (status, snoozed_until) == (conversation.status, conversation.snoozed_until) {
        return Ok(());
    }
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update conversations set status = $3, snoozed_until = $4, announced_turn = $5
         where workspace_id = $1 and id = $2",
        workspace,
        conversation.id.0,
        status.as_str(),
        snoozed_until,
        turn as Turn
    )
    .execute(&mut **tx)
    .await?;
    match row.snooze {
        Snooze::Ended(reason) if conversation.snoozed_until.is_some() => {
            timeline::append(tx, conversation.id, by, "unsnoozed", json!({ "reason": reason })).await?;
        }
        Snooze::Set(until) => {
            timeline::append(tx, conversation.id, by, "snoozed", json!({ "until": written(until) })).await?;
        }
        _ => {}
    }
    if status != conversation.status {
        let (from, to, reason) = (conversation.status.as_str(), status.as_str(), trigger.reason());
        let data = json!({ "from": from, "to": to, "reason": reason });
        timeline::append(tx, conversation.id, by, "status", data).await?;
    }
    if conversation.announced_turn != Some(turn) {
        let changed = TurnChanged {
            conversation_id: conversation.id,
            turn,
            previous: conversation.announced_turn,
            assignee: conversation.assignee.as_ref().map(Assignee::from),
        };
        record(tx, conversation.event_context(), &Event::TurnChanged(changed)).await?;
    }
    Ok(())
}
