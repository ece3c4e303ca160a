//! Assess: takes what the stages before found out about a mail and gives it as it will be stored: without quoted history, with
//! its scam risk, and marked as automatic when no person of the outside wrote it.

use super::classify::Classified;
use super::files::Files;
use super::identify::{Earlier, Identity, Us};
use super::place::Place;
use crate::incoming::authenticate::{Dmarc, MailPart};
use crate::incoming::scam;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::{Contact, Conversation};
use rookery_core::conversations::messages::html::Html;
use rookery_core::conversations::messages::inbound::{Header, Inbound, Risk, takes_part};
use rookery_core::workspace::mailboxes;
use rookery_reading::mail::parse::{Address, ParsedMail};
use rookery_reading::mail::quote;

/// What a mail is judged by.
pub(super) struct Evidence<'m> {
    pub classified: Classified<'m>,
    pub place: Place,
    pub identity: &'m Identity<'m>,
    pub earlier: Earlier,
    pub files: &'m Files,
}

/// A mail that is ready to be stored.
pub(super) struct Judged<'m> {
    pub classified: Classified<'m>,
    pub place: Place,
    pub inbound: Inbound,
    pub files: &'m Files,
}

/// Scam signals that depend on earlier mail.
struct Signs {
    repeated_id: bool,
    new_sender_in_thread: bool,
}

pub(super) async fn assess<'m>(tx: &mut Tx<'_>, us: &Us, evidence: Evidence<'m>) -> Result<Judged<'m>> {
    let mail = &evidence.classified.mail;
    let signs = Signs {
        // Only a mail with a Message-ID can reuse one.
        repeated_id: evidence.earlier.other && mail.message_id.is_some(),
        new_sender_in_thread: match &evidence.place.joined {
            Some(conversation) => !wrote_before(tx, conversation, mail).await?,
            None => false,
        },
    };
    let mut inbound = judged(us, &evidence, &signs);
    let Evidence { classified, place, files, .. } = evidence;
    let is_answer = classified.rsvp.is_some() || classified.bounced.is_some();
    // D146: mail from one of our own inboxes counts as automatic, so it changes no state and is not announced.
    inbound.automatic |= is_answer || is_ours(tx, us, &classified.mail).await?;
    Ok(Judged { classified, place, inbound, files })
}

/// Whether the sender is an inbox of this workspace. The domain rules that out for most senders without a query.
async fn is_ours(tx: &mut Tx<'_>, us: &Us, mail: &ParsedMail) -> Result<bool> {
    let Some(from) = mail.from.as_ref().filter(|from| us.domains.iter().any(|ours| ours == from.domain()))
    else {
        return Ok(false);
    };
    let workspace = tx.workspace();
    Ok(mailboxes::at(tx, workspace, std::slice::from_ref(&from.email)).await?.is_some())
}

/// Whether the sender takes part in the conversation. Mostly it is the contact, which needs no query.
async fn wrote_before(tx: &mut Tx<'_>, conversation: &Conversation, mail: &ParsedMail) -> Result<bool> {
    let Some(sender) = mail.from.as_ref().map(|from| from.email.as_str()) else { return Ok(false) };
    let is_contact = conversation.contact.email.as_deref() == Some(sender);
    Ok(is_contact || takes_part(tx, conversation.id, sender).await?)
}

/// The mail as it will be stored: quoted history removed, scam risk assessed.
fn judged(us: &Us, evidence: &Evidence<'_>, signs: &Signs) -> Inbound {
    let Evidence { classified, place, identity, files, .. } = evidence;
    let (delivery, mail, placement) = (classified.delivery, &*classified.mail, &place.placement);
    let sender = mail.from.as_ref().map(|from| from.email.as_str());
    let text = quote::own_words(mail);
    let assessment = scam::assess(
        mail,
        &scam::Context {
            text: &text,
            dmarc_failed: delivery.verdict.dmarc() == Dmarc::Fail,
            unwanted: delivery.verdict.held,
            our_domains: &us.domains,
            team_names: &us.team_names,
            workspace_name: &us.name,
            new_sender_in_thread: signs.new_sender_in_thread,
            repeated_id: signs.repeated_id,
        },
    );
    let vouched = [(MailPart::To, &mail.to), (MailPart::Cc, &mail.cc)].into_iter();
    let vouched = vouched.filter(|(part, _)| delivery.verdict.vouches_for(*part)).flat_map(|(_, list)| list);
    let written_to = vouched.map(|address| address.email.clone());
    let listed = |list: &[Address]| list.iter().map(|address| address.email.clone()).collect();
    let reply_to = mail.reply_to.as_ref().map(|address| address.email.clone());
    Inbound {
        from: Contact {
            name: mail.from.as_ref().and_then(|from| from.name.clone()),
            email: sender.map(str::to_owned),
        },
        also_to: written_to.filter(|address| *address != delivery.mailbox.address).collect(),
        header: Header { to: listed(&mail.to), cc: listed(&mail.cc), reply_to },
        subject: mail.subject.clone(),
        answers_in: placement.answers_in,
        reference: placement.reference.clone(),
        answers_app_mail: placement.answers.is_some(),
        whole_text: (text != mail.text).then(|| mail.text.clone()),
        text,
        html: mail.html.as_ref().map(|html| Html {
            source: html.source.clone(),
            laid_out: html.laid_out,
            remote_images: html.has_remote_pictures,
        }),
        attachments: files.attachments.iter().map(|file| file.attachment.clone()).collect(),
        automatic: mail.automatic,
        risk: assessment.risk.map(|risk| Risk {
            label: risk.as_str(),
            reasons: assessment.reasons.iter().map(ToString::to_string).collect(),
            held: assessment.held,
        }),
        rfc_message_id: mail.message_id.clone(),
        id_hash: identity.id_hash,
        content_hash: identity.content_hash(),
        raw: files.raw.clone(),
        verdict: serde_json::to_value(&delivery.verdict).unwrap_or_default(),
        placed: match placement.answers_in {
            Some(other) => format!("{} (it answers a mail in {other})", placement.why),
            None => placement.why.to_string(),
        },
    }
}
