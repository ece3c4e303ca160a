//! Store: takes judged mails and gives where each is stored now, or that one of them is there already, which another node stored
//! since it was looked for. Mail that joins a conversation comes alone; the rest is one statement for the lot.

use chrono::NaiveDate;

use super::assess::Judged;
use super::place::Place;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::inbound::{self, Duplicate, Stored};

pub(super) async fn store(
    tx: &mut Tx<'_>,
    lot: &[Judged<'_>],
    week: NaiveDate,
) -> Result<Result<Vec<Stored>, Duplicate>> {
    if let [Judged { classified, place: Place { joined: Some(conversation), .. }, inbound, .. }] = lot {
        let mailbox = &classified.delivery.mailbox;
        let stored = inbound::join(tx, mailbox, conversation, inbound, week).await?;
        return Ok(stored.map(|stored| vec![stored]));
    }
    let mails: Vec<_> = lot.iter().map(|one| (&one.classified.delivery.mailbox, &one.inbound)).collect();
    inbound::start(tx, &mails, week).await
}
