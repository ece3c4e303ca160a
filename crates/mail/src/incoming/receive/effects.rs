//! Effects: takes a lot of mail that is stored and gives nothing; what follows from the mail is done here, in the transaction
//! that stores it. They are a table and run from top to bottom, each for every mail of the lot before the next one begins.

use futures::future::BoxFuture;
use serde_json::json;

use super::answering::whom;
use super::assess::Judged;
use super::identify::Known;
use crate::incoming::reports::{apply_report, apply_to_booking, author, lift_suppressions};
use crate::incoming::stage::stage;
use crate::incoming::thread::Why;
use rookery_base::error::Result;
use rookery_base::ids::PersonId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::conversations::ruled::engine;
use rookery_core::conversations::timeline;
use rookery_core::rules::store::active;
use rookery_core::workspace::access::{By, MemberId};
use rookery_product::app_mail::sent;
use rookery_product::bookings::rsvp;
use rookery_product::documents::filing::{NewDocument, file};
use rookery_product::replies::automatic::answer::answer;
use rookery_product::replies::automatic::away::answer_for;

/// Mail that was stored in one transaction.
pub(super) struct Lot<'m> {
    pub known: &'m Known,
    pub mails: Vec<StoredMail<'m>>,
    /// The mail came alone. Only such a mail is answered: `answering` says why.
    pub is_single: bool,
}

pub(super) struct StoredMail<'m> {
    pub judged: &'m Judged<'m>,
    pub stored: Stored,
}

struct Effect {
    name: &'static str,
    run: Run,
}

type Run = for<'a> fn(&'a mut Tx<'_>, &'a Lot<'_>) -> BoxFuture<'a, Result<()>>;

const EFFECTS: &[Effect] = &[
    Effect { name: "tells of a new sender", run: |tx, lot| Box::pin(tell_of_new_sender(tx, lot)) },
    Effect { name: "answers app mail", run: |tx, lot| Box::pin(answer_app_mail(tx, lot)) },
    Effect { name: "answers an invitation", run: |tx, lot| Box::pin(answer_invitation(tx, lot)) },
    Effect { name: "returns a booking's mail", run: |tx, lot| Box::pin(return_booking_mail(tx, lot)) },
    Effect { name: "applies a report", run: |tx, lot| Box::pin(apply_reports(tx, lot)) },
    Effect { name: "lifts suppression", run: |tx, lot| Box::pin(lift_suppression(tx, lot)) },
    Effect { name: "files documents", run: |tx, lot| Box::pin(file_documents(tx, lot)) },
    Effect { name: "runs rules", run: |tx, lot| Box::pin(run_rules(tx, lot)) },
    Effect { name: "replies automatically", run: |tx, lot| Box::pin(reply_automatically(tx, lot)) },
    Effect { name: "tells who simulated it", run: |tx, lot| Box::pin(tell_who_simulated(tx, lot)) },
];

pub(super) async fn run_effects(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for effect in EFFECTS {
        stage(effect.name, (effect.run)(tx, lot)).await?;
    }
    Ok(())
}

async fn tell_of_new_sender(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, stored } in &lot.mails {
        if judged.place.placement.why == Why::Colleague {
            let data = json!({ "messageId": stored.message, "email": judged.inbound.from.email });
            timeline::append(tx, stored.conversation, &By::System, "new-sender", data).await?;
        }
    }
    Ok(())
}

/// The mail of the app that it is a permitted reply to belongs to its conversation from now on.
async fn answer_app_mail(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, stored } in &lot.mails {
        if let Some(message_id) = &judged.place.placement.answers {
            let livemode = judged.classified.delivery.mailbox.livemode();
            let by_a_person = !judged.inbound.automatic;
            sent::answered(tx, livemode, message_id, stored.conversation, by_a_person).await?;
        }
    }
    Ok(())
}

async fn answer_invitation(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, .. } in &lot.mails {
        if let Some(heard) = judged.classified.rsvp {
            rsvp::apply(tx, heard).await?;
        }
    }
    Ok(())
}

async fn return_booking_mail(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, .. } in &lot.mails {
        if let Some(bounced) = &judged.classified.bounced {
            apply_to_booking(tx, bounced).await?;
        }
    }
    Ok(())
}

async fn apply_reports(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, .. } in &lot.mails {
        if let Some(proven) = &judged.classified.report {
            apply_report(tx, judged.place.joined.as_ref(), proven).await?;
        }
    }
    Ok(())
}

/// All authors at once: it costs a statement, however many they are.
async fn lift_suppression(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    if !lot.known.suppressed {
        return Ok(());
    }
    let mut authors = Vec::with_capacity(lot.mails.len());
    for StoredMail { judged, stored } in &lot.mails {
        let Judged { classified, inbound, .. } = judged;
        authors.extend(author(classified.delivery, &classified.mail, inbound, *stored));
    }
    lift_suppressions(tx, &authors).await
}

async fn file_documents(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, stored } in &lot.mails {
        let parsed = judged.classified.mail.attachments.iter();
        for (parsed, kept) in parsed.zip(&judged.files.attachments) {
            if !parsed.is_filed() {
                continue;
            }
            let document = NewDocument {
                audience: judged.classified.delivery.mailbox.audience,
                conversation: stored.conversation,
                filename: &kept.attachment.filename,
                content_type: &kept.attachment.content_type,
                size: kept.attachment.size,
                content_hash: kept.hash,
                blob: &kept.attachment.blob,
            };
            file(tx, document).await?;
        }
    }
    Ok(())
}

async fn run_rules(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    if !lot.known.ruled {
        return Ok(());
    }
    let workspace = tx.workspace();
    let rules = active(tx, workspace).await?;
    for StoredMail { judged, stored } in &lot.mails {
        let mailbox = &judged.classified.delivery.mailbox;
        engine::on_mail(tx, &rules, mailbox, *stored, &judged.inbound).await?;
    }
    Ok(())
}

async fn reply_automatically(tx: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, stored } in lot.mails.iter().filter(|_| lot.is_single) {
        let Some(sender) = whom(judged) else { continue };
        let mailbox = &judged.classified.delivery.mailbox;
        let is_answered = match away(lot, judged) {
            Some(person) => answer_for(tx, person, mailbox, *stored, sender).await?,
            None => false,
        };
        if !is_answered && lot.known.answering.contains(&mailbox.id) {
            answer(tx, mailbox, *stored, sender).await?;
        }
    }
    Ok(())
}

/// Who is away and had the conversation when the mail came. To whom a rule gives it now, the mail is no reply. Such mail
/// always comes alone, because what joins a conversation does.
fn away(lot: &Lot<'_>, judged: &Judged<'_>) -> Option<PersonId> {
    let assignee = judged.place.joined.as_ref()?.assignee.as_ref()?;
    lot.known.away.iter().copied().find(|person| assignee.id == MemberId::Person(*person))
}

/// What an agent's request is answered with is written down with what it did.
async fn tell_who_simulated(_: &mut Tx<'_>, lot: &Lot<'_>) -> Result<()> {
    for StoredMail { judged, stored } in &lot.mails {
        if let Some(asked) = &judged.classified.delivery.asked {
            asked.answered(*stored)?;
        }
    }
    Ok(())
}
