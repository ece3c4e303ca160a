//! Sends the service's notices to its own people (a webhook was paused, and the like), and codes that prove an address
//! to customers. They leave by the relay
//! that customers' mail takes, from an address of the service itself, and are mail of a machine.

use chrono::{DateTime, TimeDelta, Utc};
use mail_builder::MessageBuilder;
use mail_builder::headers::message_id::MessageId as Named;
use mail_builder::headers::raw::Raw;
use sqlx::PgConnection;

use crate::incoming::return_path;
use rookery_base::app::App;
use rookery_base::due::lease::{self, Claim, LONGEST_PAUSE, Lease, PAUSES, TriedRow, Work};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::relay::mailer::{Copies, FinalMail, Handover, OutgoingLetter, Refusal};
use rookery_base::store::db::Tx;
use rookery_core::workspace::domains::reserved::SENDER;
use rookery_core::workspace::notices::{self, ClaimedNotice};
use rookery_core::workspace::people::invitations;
use rookery_core::workspace::{one_time_codes, sign_in_links};

/// The worker's loop.
pub const LOOP: &str = "send notices";

/// A notice that could not be sent for this long is old news.
const STALE: TimeDelta = TimeDelta::days(30);

/// Works off every notice that is due now.
pub async fn notify_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Notices, at_once).await
}

struct Notices;

impl Work for Notices {
    const WHAT: &'static str = "a notice";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = ClaimedNotice;
    type Outcome = Result<(), Refusal>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<ClaimedNotice>> {
        notices::claim(conn, lease.began, lease.ends).await
    }

    fn claim_of(&self, notice: &ClaimedNotice) -> Claim {
        Claim { workspace: notice.workspace, number: notice.claim, tries: notice.tries }
    }

    async fn act(&self, app: &App, notice: &ClaimedNotice) -> Result<TriedRow<Self::Outcome>> {
        let body = match notice.kind.as_str() {
            sign_in_links::NOTICE => sign_in_links::words(app, notice).await?,
            invitations::NOTICE => invitations::words(app, notice).await?,
            one_time_codes::NOTICE => one_time_codes::words(app, notice).await?,
            _ => Some(notice.body.clone()),
        };
        let Some(body) = body else { return Ok(TriedRow::Done(Err(Refusal::GaveUp))) };
        Ok(match hand_over(app, notice, body).await? {
            Handover::Accepted => TriedRow::Done(Ok(())),
            Handover::Refused(refusal) => TriedRow::Done(Err(refusal)),
            Handover::Later => TriedRow::Later,
        })
    }

    async fn finish(&self, tx: &mut Tx<'_>, notice: &ClaimedNotice, outcome: Self::Outcome) -> Result<bool> {
        match outcome {
            Ok(()) => notices::sent(tx, notice).await,
            Err(_) => self.give_up(tx, notice).await,
        }
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        notice: &ClaimedNotice,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        notices::again(tx, notice, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, notice: &ClaimedNotice) -> Result<bool> {
        tracing::warn!(workspace = %notice.workspace, notice = %notice.id, "a notice cannot be sent");
        notices::drop(tx, notice).await
    }

    /// After a day twice a day, until it is old news.
    fn pause(&self, notice: &ClaimedNotice, now: DateTime<Utc>) -> Option<TimeDelta> {
        let pause = PAUSES.get(usize::try_from(notice.tries).unwrap_or_default()).copied();
        (notice.created_at + STALE > now).then(|| pause.unwrap_or(LONGEST_PAUSE))
    }
}

async fn hand_over(app: &App, notice: &ClaimedNotice, body: String) -> Result<Handover> {
    let name = app.config.mail_name();
    let sender = match notice.kind.as_str() {
        one_time_codes::NOTICE => one_time_codes::sender(app, notice.workspace).await?,
        _ => "Rookery".to_owned(),
    };
    let from = format!("{SENDER}@{name}");
    let rfc_message_id = format!("{}.{}@{name}", notice.id, notice.workspace);
    let raw = MessageBuilder::new()
        .message_id(Named::new(rfc_message_id.clone()))
        .date(notice.created_at.timestamp())
        .from((sender.as_str(), from.as_str()))
        .to(notice.recipient.as_str())
        .subject(notice.subject.as_str())
        .header("Auto-Submitted", Raw::new("auto-generated"))
        .header("X-Auto-Response-Suppress", Raw::new("All"))
        .text_body(body.as_str())
        .write_to_vec()?;
    let letter = OutgoingLetter {
        workspace: notice.workspace,
        // It belongs to no conversation.
        conversation: ConversationId(0),
        message: MessageId(notice.id.0),
        rfc_message_id,
        from_name: Some(sender.clone()),
        from: from.clone(),
        to: notice.recipient.clone(),
        copies: Copies::default(),
        subject: notice.subject.clone(),
        text: body,
    };
    // Links and codes stand in it, so what comes back of it is read by nobody.
    let key = app.config.needs_secret_key()?.newest();
    let return_path = return_path::make_for_service(key, &from, notice.id);
    let mail = FinalMail { return_path, to: notice.recipient.clone(), copies_to: Vec::new(), raw };
    app.mailer.hand_over(&letter, &mail).await
}
