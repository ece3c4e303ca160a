//! Sending what is due (specification 3.3): claim, hand over, write down what came of it.
//!
//! A message is handed over under a lease and at most once under each; the result is written only if the
//! lease is still ours. After a crash another node hands it over again with the same Message-ID.

use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, stream};

use crate::app::App;
use crate::conversations::conversation::{Locked, lock_any};
use crate::conversations::earlier::earlier;
use crate::conversations::sending::{self, Claimed};
use crate::db::Tx;
use crate::documents::request::{self, Carrier};
use crate::error::{Error, Result};
use crate::mail::sandbox::answer;
use crate::mail::sandbox::deliver::deliver;
use crate::mail::{compose, dkim};
use crate::mailer::{Handover, Mail, Refusal};
use crate::put_off::caught;
use crate::replies::suppress::{Reason, suppress};

/// The worker's loop.
pub const LOOP: &str = "send";

/// Waits after a try in vain (D131), a day in all; after the last of them nobody tries again.
pub const LATER: [TimeDelta; 7] = [
    TimeDelta::minutes(1),
    TimeDelta::minutes(5),
    TimeDelta::minutes(15),
    TimeDelta::hours(1),
    TimeDelta::hours(3),
    TimeDelta::hours(6),
    TimeDelta::hours(12),
];

/// Works off everything that is due now.
pub async fn send_due(app: &App, at_once: usize) -> Result<()> {
    while !app.stop.told() {
        let now = app.clock.now();
        let claimed = sending::claim(&mut *app.connection().await?, now, now + app.config.lease()).await?;
        if claimed.is_empty() {
            break;
        }
        let (live, simulated): (Vec<_>, Vec<_>) = claimed.iter().partition(|claimed| claimed.livemode);
        let ends = now + app.config.lease();
        // The sandbox's ledger has no network to wait for: one at a time, so that a crash leaves at most one
        // mail that was handed over and not written down.
        futures::join!(send_all(app, live, ends, at_once), send_all(app, simulated, ends, 1));
    }
    Ok(())
}

async fn send_all(app: &App, claimed: Vec<&Claimed>, lease_ends: DateTime<Utc>, at_once: usize) {
    stream::iter(claimed)
        .for_each_concurrent(at_once, async |claimed| {
            if let Err(error) = caught(send(app, claimed, lease_ends)).await {
                app.loops.of(LOOP).count(&error);
                let (workspace, message) = (claimed.letter.workspace, claimed.letter.message);
                tracing::warn!(%error, %workspace, %message, "a message was not sent; its lease will end");
            }
        })
        .await;
}

async fn send(app: &App, claimed: &Claimed, lease_ends: DateTime<Utc>) -> Result<()> {
    // Told to stop, or so late in the lease that another node might begin while we are still at it: after the
    // longest handover there must be time to write down what came of it.
    let enough_time = app.clock.now() + app.config.handover() * 2 < lease_ends;
    if app.stop.told() || !enough_time {
        let mut tx = app.begin(claimed.letter.workspace).await?;
        sending::release(&mut tx, claimed).await?;
        return tx.commit().await;
    }
    let outcome = hand_over(app, claimed).await?;
    let mut tx = app.begin(claimed.letter.workspace).await?;
    let conversation = match lock_any(&mut tx, claimed.letter.conversation).await {
        Err(Error::Missing(_)) => return Ok(()),
        locked => locked?,
    };
    let ours = match outcome {
        Handover::Accepted => sent(&mut tx, &conversation, claimed).await?,
        Handover::Refused(refusal) => refused(&mut tx, &conversation, claimed, refusal).await?,
        Handover::Later => match LATER.get(usize::try_from(claimed.tries).unwrap_or_default()) {
            Some(wait) => {
                let due_at = tx.now() + *wait;
                sending::later(&mut tx, claimed, due_at).await?
            }
            None => sending::failed(&mut tx, &conversation, claimed, Refusal::GaveUp).await?,
        },
    };
    if !ours {
        // The mail may have left twice, with one Message-ID; what the other node wrote stands.
        let (workspace, message) = (claimed.letter.workspace, claimed.letter.message);
        tracing::warn!(%workspace, %message, claim = claimed.claim, "a lease was lost: another node has the message");
        return Ok(());
    }
    tx.commit().await
}

async fn hand_over(app: &App, claimed: &Claimed) -> Result<Handover> {
    if claimed.letter.to.is_empty() {
        return Ok(Handover::Refused(Refusal::Rejected));
    }
    if claimed.suppressed {
        return Ok(Handover::Refused(Refusal::Suppressed));
    }
    let longest = app.config.handover().to_std().map_err(Error::internal)?;
    let handed_over = async {
        match claimed.livemode {
            true => app.mailer.hand_over(&claimed.letter, &write(app, claimed).await?).await,
            false => deliver(app, &claimed.letter).await,
        }
    };
    tokio::time::timeout(longest, handed_over).await.unwrap_or(Ok(Handover::Later))
}

/// The mail as it leaves. Every try gives the same bytes.
async fn write(app: &App, claimed: &Claimed) -> Result<Mail> {
    let letter = &claimed.letter;
    let earlier = earlier(&mut *app.connection().await?, letter).await?;
    let mut mail = compose::compose(letter, &earlier, app.config.needs_secret_key()?.newest());
    dkim::sign(app, letter, earlier.date, &mut mail).await?;
    Ok(mail)
}

async fn refused(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    claimed: &Claimed,
    refusal: Refusal,
) -> Result<bool> {
    let ours = sending::failed(tx, conversation, claimed, refusal).await?;
    if ours && refusal == Refusal::NoSuchAddress {
        let letter = &claimed.letter;
        suppress(tx, claimed.livemode, &letter.to, Reason::Bounce, letter.message).await?;
    }
    Ok(ours)
}

async fn sent(tx: &mut Tx<'_>, conversation: &Locked, claimed: &Claimed) -> Result<bool> {
    if !sending::sent(tx, conversation, claimed).await? {
        return Ok(false);
    }
    let message = claimed.letter.message;
    request::open(tx, Carrier { conversation: conversation.id, message }).await?;
    if !claimed.livemode {
        answer::after(tx, conversation, &claimed.letter).await?;
    }
    Ok(true)
}
