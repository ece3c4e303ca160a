//! The inbound pipeline, a list of stages to be read from top to bottom (specification 1, 4.12, 4.14). Each is a file that says
//! what it takes and gives. Simulated, imported and received mail all go through it, alone or in a lot: a single mail is a lot
//! of one.
//!
//! Blobs are stored before the transaction that refers to them begins; everything else is one commit. Mail may be
//! acknowledged after this returns.

mod answering;
mod assess;
pub mod batch;
mod classify;
mod effects;
mod files;
mod identify;
mod parse;
mod place;
mod rsvp;
mod store;

pub use self::parse::take_apart;

use self::answering::set_apart;
use self::assess::{Evidence, assess};
use self::classify::classify;
use self::effects::{Lot, StoredMail, run_effects};
use self::files::{Files, store_files};
use self::identify::{Identity, Known, are_alike};
use self::place::{Full, place};
use self::store::store;
use crate::incoming::delivery::{Delivery, Incoming, Received};
use crate::incoming::quota::tell;
use crate::incoming::stage::{at_once, stage};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::store::db::{Handle, Tx};
use rookery_core::conversations::messages::inbound::Stored;
use rookery_reading::mail::parse::Refusal;

/// Mail that was authenticated, or never came over the network.
pub async fn receive(app: &App, workspace: WorkspaceId, delivery: Delivery) -> Result<Received> {
    match take_apart(&delivery.raw).await? {
        Ok(mail) => deliver(app, workspace, Incoming { delivery: &delivery, mail: &mail }).await,
        Err(refusal) => Ok(Received::Refused(refusal)),
    }
}

/// Stores a parsed mail in one inbox.
async fn deliver(app: &App, workspace: WorkspaceId, incoming: Incoming<'_>) -> Result<Received> {
    let received = deliver_lot(app, workspace, &[incoming]).await?.pop().flatten();
    received.ok_or_else(|| Error::internal("a mail that came alone was left out"))
}

/// Stores parsed mails of one workspace together. `None` for a mail that has to come alone, which may be all of them, and
/// never one that does.
async fn deliver_lot(
    app: &App,
    workspace: WorkspaceId,
    lot: &[Incoming<'_>],
) -> Result<Vec<Option<Received>>> {
    let files = stage("files", store_files(app, workspace, lot)).await?;
    let outcomes = match stages(app, workspace, lot, &files).await {
        Ok(done) => outcomes(app, workspace, lot, done).await,
        Err(error) => Err(error),
    };
    let not_stored = |number: usize| match &outcomes {
        Ok(outcomes) => !matches!(outcomes[number], Some(Received::Stored(_))),
        // If the commit is uncertain a row may refer to the blobs; then they are left to the sweep.
        Err(error) => !error.is_uncertain(),
    };
    let discarded = files.iter().enumerate().filter(|(number, _)| not_stored(*number));
    let discarded: Vec<String> = discarded.flat_map(|(_, files)| files.keys()).collect();
    app.blobs.discard(&discarded).await;
    outcomes
}

/// Why nothing of a lot was stored.
enum NotStored {
    /// The inbox has one of the mails already.
    Twin(Stored),
    /// Another node stored one of them between our lookup and our insert. It is committed by now.
    Overtaken,
    /// This conversation takes no more mail today.
    Full(ConversationId),
    /// They do not go together.
    Unlike,
}

/// The stages of one transaction. It ends with them: what is dropped before the commit is taken back.
async fn stages(
    app: &App,
    workspace: WorkspaceId,
    lot: &[Incoming<'_>],
    files: &[Files],
) -> Result<Result<Vec<Option<Stored>>, NotStored>> {
    let identities: Vec<Identity> = at_once("identify", || lot.iter().map(Identity::from_incoming).collect());
    if are_alike(&identities) {
        return Ok(Err(NotStored::Unlike));
    }
    let mut tx = stage("begin", begin(app, workspace, lot)).await?;
    let known = stage("identify", Known::read(&mut tx, &identities)).await?;
    if let Some(twin) = known.twin() {
        return Ok(Err(NotStored::Twin(twin)));
    }
    let mut judged = Vec::with_capacity(lot.len());
    for ((incoming, identity), (earlier, files)) in
        lot.iter().zip(&identities).zip(known.earlier.iter().zip(files))
    {
        let classified = stage("classify", classify(&mut tx, app, *incoming)).await?;
        let place = match stage("place", place(&mut tx, app, &classified)).await? {
            // `batch` sees to it that what joins a conversation comes alone.
            Ok(place) if place.joined.is_some() && lot.len() > 1 => return Ok(Err(NotStored::Unlike)),
            Ok(place) => place,
            Err(Full(conversation)) => return Ok(Err(NotStored::Full(conversation))),
        };
        let evidence = Evidence { classified, place, identity, earlier: *earlier, files };
        judged.push(stage("assess", assess(&mut tx, &known.us, evidence)).await?);
    }
    let alone = stage("set apart", set_apart(&mut tx, &known.answering, &judged)).await?;
    let mut left_out = alone.iter();
    judged.retain(|_| left_out.next() == Some(&false));
    if judged.is_empty() {
        return Ok(Err(NotStored::Unlike));
    }
    let Ok(stored) = stage("store", store(&mut tx, &judged, known.week)).await? else {
        return Ok(Err(NotStored::Overtaken));
    };
    let mails = judged.iter().zip(&stored).map(|(judged, stored)| StoredMail { judged, stored: *stored });
    let done = Lot { known: &known, mails: mails.collect(), is_single: lot.len() == 1 };
    stage("effects", run_effects(&mut tx, &done)).await?;
    stage("commit", tx.commit()).await?;
    let mut stored = stored.into_iter();
    Ok(Ok(alone.iter().map(|alone| if *alone { None } else { stored.next() }).collect()))
}

async fn begin(app: &App, workspace: WorkspaceId, lot: &[Incoming<'_>]) -> Result<Tx<'static>> {
    match lot {
        [Incoming { delivery: Delivery { asked: Some(asked), .. }, .. }] => {
            Tx::begin(app.connection_of(workspace).await?, asked.frame.clone()).await
        }
        _ => app.begin(workspace).await,
    }
}

/// What became of a lot. Several mails of which nothing was stored come again, each alone.
async fn outcomes(
    app: &App,
    workspace: WorkspaceId,
    lot: &[Incoming<'_>],
    done: Result<Vec<Option<Stored>>, NotStored>,
) -> Result<Vec<Option<Received>>> {
    let received = match (done, lot) {
        (Ok(stored), _) => return Ok(stored.into_iter().map(|one| one.map(Received::Stored)).collect()),
        (Err(NotStored::Twin(twin)), [_]) => Received::Duplicate(twin),
        (Err(NotStored::Overtaken), [one]) => Received::Duplicate(find_twin(app, workspace, one).await?),
        (Err(NotStored::Full(conversation)), [one]) => {
            let mut tx = app.begin(workspace).await?;
            tell(&mut tx, one.delivery.mailbox.id, conversation).await?;
            tx.commit().await?;
            Received::Refused(Refusal::EnoughForToday)
        }
        (Err(_), _) => return Ok(lot.iter().map(|_| None).collect()),
    };
    Ok(vec![Some(received)])
}

async fn find_twin(app: &App, workspace: WorkspaceId, incoming: &Incoming<'_>) -> Result<Stored> {
    let mut tx = app.begin(workspace).await?;
    let known = Known::read(&mut tx, &[Identity::from_incoming(incoming)]).await?;
    let lost = || Error::internal("a duplicate mail was refused, but its twin is not there");
    known.twin().ok_or_else(lost)
}
