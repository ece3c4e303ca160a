//! `GET /mailboxes` (specification 4.10): the inboxes this key can see.
//! Always the complete list; another person's private inbox is not part of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::NoInput;
use crate::operation::{Call, Nothing, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::ids::MailboxId;
use rookery_base::store::db::Reading;
use rookery_core::conversations::inboxes;

pub struct ListMailboxes;

#[derive(Serialize, JsonSchema)]
pub struct Mailbox {
    id: MailboxId,
    address: String,
    name: String,
    /// Open conversations.
    open: i64,
}

impl Operation for ListMailboxes {
    const SPEC: Spec = Spec {
        title: "List inboxes",
        about: "Every inbox this key can see, with its number of open conversations.",
        ..Spec::read("list_mailboxes", "/mailboxes")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = NoInput;
    type Output = Vec<Mailbox>;

    async fn run(call: &mut Call<'_, Reading>, _: Nothing, _: NoInput) -> Result<Vec<Mailbox>> {
        let (actor, now) = (call.actor, call.now());
        let inboxes = inboxes::list(&mut call.db, actor, now).await?;
        let mailbox = |inbox: inboxes::CountedMailbox| Mailbox {
            id: inbox.id,
            address: inbox.address,
            name: inbox.name,
            open: inbox.open,
        };
        Ok(inboxes.into_iter().map(mailbox).collect())
    }
}
