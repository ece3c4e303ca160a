//! Which mail an inbox may answer by itself: what a person wrote to us just now, and nobody else. Machines, lists, bounces,
//! our own inboxes, likely scams and senders whom their own domain does not vouch for are never answered (RFC 3834, section
//! 2): an answer to a forged sender is mail to a stranger, with the forger's subject and our signature.

use std::collections::{HashMap, HashSet};

use crate::conversations::messages::inbound::Inbound;
use crate::error::Result;
use crate::ids::MailboxId;
use crate::incoming::authenticate::Standing;
use crate::incoming::delivery::Delivery;
use crate::incoming::parse::ParsedMail;
use crate::replies::automatic::answer;
use crate::store::db::Tx;
use crate::workspace::inbox_settings::auto_reply;

/// Whom to answer, if anybody. SPF speaks for the envelope and the answer goes to the header, so what passed has to be of
/// the very sender's organization.
pub(super) fn whom<'m>(delivery: &Delivery, mail: &'m ParsedMail, inbound: &Inbound) -> Option<&'m str> {
    let verdict = &delivery.verdict;
    let from = mail.from.as_ref().filter(|_| mail.single_from)?;
    let vouched = verdict.standing(Some(&from.email)) >= Standing::Plausible;
    let machine = inbound.automatic || mail.wants_no_answer || mail.report.is_some() || verdict.null_sender;
    let wanted = delivery.may_be_answered && !machine && vouched && inbound.risk.is_none();
    wanted.then_some(from.email.as_str())
}

/// Which mails of a lot are answered, so that they are stored alone: an automatic reply takes the row of its sender, and
/// nobody may hold several of those. Of one sender it is one mail; whoever was answered today is not again.
pub(super) async fn answered(
    tx: &mut Tx<'_>,
    answering: &[MailboxId],
    mails: &[(&Delivery, &ParsedMail, &Inbound)],
) -> Result<Vec<bool>> {
    let mut due = HashMap::new();
    let mut senders: Vec<Option<(MailboxId, String)>> = Vec::with_capacity(mails.len());
    for (delivery, mail, inbound) in mails {
        let inbox = delivery.mailbox.id;
        let sender = answering.contains(&inbox).then(|| whom(delivery, mail, inbound)).flatten();
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
    let mut done: HashSet<_> = match asked.is_empty() {
        true => HashSet::new(),
        false => answer::today(tx, &asked).await?.into_iter().collect(),
    };
    Ok(senders.into_iter().map(|sender| sender.is_some_and(|sender| done.insert(sender))).collect())
}
