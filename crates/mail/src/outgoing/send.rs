//! Sending what is due (specification 3.3): claim, hand over, write down what came of it.
//!
//! A message is handed over under a lease and at most once under each. After a crash another node hands it over again
//! with the same Message-ID. What cannot be sent for a day, for whatever reason, has failed; while the directory is away and nobody
//! knows whether an inbox may send, no day passes.

use std::borrow::Cow;
use std::time::Instant;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::sync::SemaphorePermit;

use crate::outgoing::compose::{self, LetterFile};
use crate::outgoing::dkim;
use crate::sandbox::answer;
use crate::sandbox::deliver::deliver;
use rookery_base::app::{App, MAIL_MEMORY};
use rookery_base::due::lease::{self, Claim, Lease, TriedRow, Work};
use rookery_base::error::{Error, Result};
use rookery_base::relay::logged::Withheld;
use rookery_base::relay::mailer::{FinalMail, Handover, OutgoingLetter, Refusal};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::held;
use rookery_core::conversations::messages::html;
use rookery_core::conversations::messages::reply_context::earlier;
use rookery_core::conversations::messages::sending::{self, ClaimedMessage};
use rookery_core::conversations::secure::page;
use rookery_core::workspace::domains::{self, MaySend};
use rookery_product::documents::request::{self, Carrier};
use rookery_product::replies::secure;
use rookery_product::replies::suppress::{Reason, among_erased, suppress};

/// The worker's loops.
pub const LOOP: &str = "send";
pub const SANDBOX_LOOP: &str = "send in the sandbox";

/// Works off all live mail that is due now.
pub async fn send_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Sending { sandbox: false }, at_once).await
}

/// The same in the sandbox, on its own: its customers answer within seconds, whatever live mail waits for.
pub async fn send_due_in_sandbox(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Sending { sandbox: true }, at_once).await
}

struct Sending {
    sandbox: bool,
}

impl Work for Sending {
    const WHAT: &'static str = "a message";

    fn worked_by(&self) -> &'static str {
        if self.sandbox { SANDBOX_LOOP } else { LOOP }
    }

    type Row = ClaimedMessage;
    type Outcome = Result<(), Refusal>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<ClaimedMessage>> {
        sending::claim(conn, self.sandbox, lease.began, lease.ends).await
    }

    fn claim_of(&self, claimed: &ClaimedMessage) -> Claim {
        Claim { workspace: claimed.letter.workspace, number: claimed.claim, tries: claimed.tries }
    }

    async fn room<'a>(&'a self, app: &'a App, claimed: &'a ClaimedMessage) -> Option<SemaphorePermit<'a>> {
        match memory(claimed.attachments.iter().map(|file| file.size)) {
            0 => None,
            // Nobody closes it.
            kilobytes => app.mail_memory.acquire_many(kilobytes).await.ok(),
        }
    }

    async fn act(&self, app: &App, claimed: &ClaimedMessage) -> Result<TriedRow<Self::Outcome>> {
        if claimed.by_agent_alone && !held::may_leave(app, claimed.in_hand()).await? {
            return Ok(TriedRow::Gone);
        }
        if claimed.by_service && drop_late_reminder(app, claimed).await? {
            return Ok(TriedRow::Gone);
        }
        let letter = &claimed.letter;
        let may_send = if claimed.livemode {
            domains::may_send(app, letter.workspace, &letter.from).await?
        } else {
            MaySend::Yes
        };
        if may_send == MaySend::Unknown {
            return Ok(TriedRow::Waits);
        }
        let started = Instant::now();
        let handed_over = hand_over(app, claimed, may_send).await;
        app.figures.sent(claimed.livemode, outcome(&handed_over), started.elapsed());
        Ok(match handed_over? {
            Handover::Accepted => TriedRow::Done(Ok(())),
            Handover::Refused(refusal) => TriedRow::Done(Err(refusal)),
            Handover::Later => TriedRow::Later,
        })
    }

    async fn finish(
        &self,
        tx: &mut Tx<'_>,
        claimed: &ClaimedMessage,
        outcome: Self::Outcome,
    ) -> Result<bool> {
        let Some(conversation) = lock(tx, claimed).await? else { return Ok(false) };
        match outcome {
            Ok(()) => sent(tx, &conversation, claimed).await,
            Err(refusal) => refused(tx, &conversation, claimed, refusal).await,
        }
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        claimed: &ClaimedMessage,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        sending::again(tx, claimed, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, claimed: &ClaimedMessage) -> Result<bool> {
        let Some(conversation) = lock(tx, claimed).await? else { return Ok(false) };
        sending::failed(tx, &conversation, claimed, Refusal::GaveUp).await
    }
}

/// Kilobytes that files take while their mail leaves: as they are, and a third larger as lines of the mail, which is
/// written into room that doubles. Of what is larger than all there is, one mail has its turn alone.
fn memory(sizes: impl Iterator<Item = i64>) -> u32 {
    let bytes = sizes.fold(0_i64, |all, size| all.saturating_add(size.max(0)));
    u32::try_from((bytes / 1024).saturating_add(i64::from(bytes > 0)).saturating_mul(3))
        .unwrap_or(MAIL_MEMORY)
        .min(MAIL_MEMORY)
}

async fn lock(tx: &mut Tx<'_>, claimed: &ClaimedMessage) -> Result<Option<Locked>> {
    match lock_any(tx, claimed.letter.conversation).await {
        Err(Error::Missing(_)) => Ok(None),
        locked => locked.map(Some),
    }
}

/// A reminder that waited while the last document came, or while the request was cancelled, does not leave any more.
async fn drop_late_reminder(app: &App, claimed: &ClaimedMessage) -> Result<bool> {
    let letter = &claimed.letter;
    let carrier = Carrier { conversation: letter.conversation, message: letter.message };
    if !request::is_late_reminder(&mut *app.connection().await?, letter.workspace, carrier).await? {
        return Ok(false);
    }
    let mut tx = app.begin(letter.workspace).await?;
    if let Some(conversation) = lock(&mut tx, claimed).await? {
        sending::drop_claimed(&mut tx, &conversation, claimed).await?;
    }
    tx.commit().await?;
    Ok(true)
}

/// Whether it goes to somebody who was erased and must not be written to.
async fn is_to_erased(app: &App, claimed: &ClaimedMessage) -> Result<bool> {
    let letter = &claimed.letter;
    let copies = [&letter.copies.to, &letter.copies.cc, &letter.copies.bcc].into_iter().flatten();
    let all: Vec<String> = copies.chain([&letter.to]).map(|address| address.to_lowercase()).collect();
    let (mut conn, keys) = (app.connection().await?, app.config.secret_key.as_ref());
    Ok(!among_erased(&mut conn, keys, letter.workspace, claimed.livemode, &all).await?.is_empty())
}

async fn hand_over(app: &App, claimed: &ClaimedMessage, may_send: MaySend) -> Result<Handover> {
    if claimed.letter.to.is_empty() {
        return Ok(withhold(app, claimed, Refusal::Rejected));
    }
    if claimed.suppressed || (claimed.erased_bans && is_to_erased(app, claimed).await?) {
        return Ok(withhold(app, claimed, Refusal::Suppressed));
    }
    if may_send == MaySend::No {
        return Ok(withhold(app, claimed, Refusal::Unproven));
    }
    // Of a secure message the mail says only that there is one.
    let told = if claimed.secure {
        match secure::letter(app, &claimed.letter).await? {
            Some(letter) => Cow::Owned(letter),
            None => return Ok(withhold(app, claimed, Refusal::TakenBack)),
        }
    } else {
        Cow::Borrowed(&claimed.letter)
    };
    if claimed.livemode {
        app.mailer.hand_over(&told, &write(app, claimed, &told).await?).await
    } else {
        deliver(app, &told).await
    }
}

/// It is refused before anybody outside is asked.
fn withhold(app: &App, claimed: &ClaimedMessage, refusal: Refusal) -> Handover {
    let letter = &claimed.letter;
    let withheld = Withheld {
        workspace: letter.workspace,
        conversation: Some(letter.conversation),
        message: letter.message,
        from: &letter.from,
        to: &letter.to,
        refusal,
    };
    withheld.log(app.config.log_addresses);
    Handover::Refused(refusal)
}

/// What figures call it.
fn outcome(handed_over: &Result<Handover>) -> &'static str {
    match handed_over {
        Ok(Handover::Accepted) => "accepted",
        Ok(Handover::Refused(refusal)) => refusal.as_str(),
        Ok(Handover::Later) => "later",
        Err(_) => "error",
    }
}

/// The mail as it leaves. Every try gives the same bytes.
async fn write(app: &App, claimed: &ClaimedMessage, letter: &OutgoingLetter) -> Result<FinalMail> {
    let mut conn = app.connection().await?;
    let earlier = earlier(&mut conn, letter).await?;
    // Of a secure message the mail says only that there is one.
    let formatting = if claimed.secure {
        None
    } else {
        html::formatting(&mut conn, letter.workspace, letter.message).await?.map(|stored| stored.html)
    };
    drop(conn);
    let earlier = if claimed.secure { earlier.without_quote() } else { earlier };
    let mut files = Vec::with_capacity(claimed.attachments.len());
    for attachment in &claimed.attachments {
        let content = app.blobs.get(&attachment.blob).await?;
        let (name, content_type) = (attachment.filename.clone(), attachment.content_type.clone());
        let content_id = attachment.content_id.clone();
        files.push(LetterFile { name, content_type, content, content_id });
    }
    let key = app.config.needs_secret_key()?.newest();
    let mut mail = compose::compose(letter, formatting.as_deref(), &earlier, files, key);
    dkim::sign(app, letter, earlier.date, &mut mail).await?;
    Ok(mail)
}

async fn refused(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    claimed: &ClaimedMessage,
    refusal: Refusal,
) -> Result<bool> {
    let ours = sending::failed(tx, conversation, claimed, refusal).await?;
    if ours && refusal == Refusal::NoSuchAddress {
        let letter = &claimed.letter;
        // Of several nobody knows who it was.
        if letter.copies.all().next().is_none() {
            suppress(tx, claimed.livemode, &letter.to, Reason::Bounce, Some(letter.message)).await?;
        }
    }
    Ok(ours)
}

/// It has left: the conversation waits for its customer, and a request it carries is open.
pub async fn sent(tx: &mut Tx<'_>, conversation: &Locked, claimed: &ClaimedMessage) -> Result<bool> {
    if !sending::sent(tx, conversation, claimed).await? {
        return Ok(false);
    }
    let message = claimed.letter.message;
    request::open(tx, Carrier { conversation: conversation.id, message }).await?;
    if claimed.secure {
        page::left(tx, message).await?;
    }
    if !claimed.livemode {
        answer::after(tx, conversation, &claimed.letter).await?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_without_files_waits_for_nobody_and_the_largest_has_its_turn_alone() {
        assert_eq!(memory([].into_iter()), 0);
        assert_eq!(memory([1].into_iter()), 3);
        let largest = memory([rookery_product::replies::upload::MOST_BYTES].into_iter());
        assert!(largest <= MAIL_MEMORY && 2 * largest > MAIL_MEMORY, "{largest}");
        assert_eq!(memory([i64::MAX, i64::MAX].into_iter()), MAIL_MEMORY);
    }
}
