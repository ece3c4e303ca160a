//! Which mail an inbox may answer by itself: what a person wrote to us just now, and nobody else. Machines, lists, bounces,
//! our own inboxes, likely scams and senders whom their own domain does not vouch for are never answered (RFC 3834, section
//! 2): an answer to a forged sender is mail to a stranger, with the forger's subject and our signature.

use std::collections::{HashMap, HashSet};

use super::assess::Judged;
use crate::incoming::authenticate::SenderStanding;
use rookery_base::error::Result;
use rookery_base::ids::MailboxId;
use rookery_base::store::db::Tx;
use rookery_core::workspace::inbox_settings::auto_reply;
use rookery_product::replies::automatic::answer;

/// Whom to answer, if anybody. SPF speaks for the envelope and the answer goes to the header, so what passed has to be of
/// the very sender's organization.
pub(super) fn whom<'a>(judged: &'a Judged<'_>) -> Option<&'a str> {
    let Judged { classified, inbound, .. } = judged;
    let (mail, verdict) = (&classified.mail, &classified.delivery.verdict);
    let from = mail.from.as_ref().filter(|_| mail.single_from)?;
    let vouched = verdict.standing(Some(&from.email)) >= SenderStanding::Plausible;
    let machine = inbound.automatic || mail.wants_no_answer || mail.report.is_some() || verdict.null_sender;
    let wanted = classified.delivery.may_be_answered && !machine && vouched && inbound.risk.is_none();
    wanted.then_some(from.email.as_str())
}

/// Which mails of a lot are answered, so that they are stored alone: an automatic reply takes the row of its sender, and
/// nobody may hold several of those. Of one sender it is one mail; whoever was answered today is not again. A mail that came
/// alone stays.
pub(super) async fn set_apart(
    tx: &mut Tx<'_>,
    answering: &[MailboxId],
    lot: &[Judged<'_>],
) -> Result<Vec<bool>> {
    if lot.len() == 1 || answering.is_empty() {
        return Ok(vec![false; lot.len()]);
    }
    let mut due = HashMap::new();
    let mut senders: Vec<Option<(MailboxId, String)>> = Vec::with_capacity(lot.len());
    for judged in lot {
        let inbox = judged.classified.delivery.mailbox.id;
        let sender = answering.contains(&inbox).then(|| whom(judged)).flatten();
        let Some(sender) = sender.and_then(answer::addressee) else {
            senders.push(None);
            continue;
        };
        let is_due = match due.get(&inbox) {
            Some(is_due) => *is_due,
            None => {
                let is_due = auto_reply::due(tx, inbox).await?.is_some();
                due.insert(inbox, is_due);
                is_due
            }
        };
        senders.push(is_due.then_some((inbox, sender)));
    }
    let asked: Vec<_> = senders.iter().flatten().cloned().collect();
    let mut done: HashSet<_> = if asked.is_empty() {
        HashSet::new()
    } else {
        answer::today(tx, &asked).await?.into_iter().collect()
    };
    Ok(senders.into_iter().map(|sender| sender.is_some_and(|sender| done.insert(sender))).collect())
}
