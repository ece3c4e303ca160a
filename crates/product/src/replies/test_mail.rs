//! A mail to oneself, which shows whether mail leaves and whether an answer comes back: an ordinary mail of this person, in a
//! conversation of its own. It leaves at once: whoever would stop it is whoever gets it.

use crate::replies::write::{Destination, NewReply, WrittenReply, write_to};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MailboxId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Contact;
use rookery_core::conversations::start;
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::people::{self, Person};

const SUBJECT: &str = "A test mail from your inbox";

pub async fn send(app: &App, tx: &mut Tx<'_>, person: &Person, inbox: MailboxId) -> Result<WrittenReply> {
    let workspace = tx.workspace();
    let mailbox = mailboxes::find_visible(tx, person, &inbox.to_string()).await?;
    let email = people::email_of(tx, workspace, person.id).await?;
    // Mail that an inbox of ours sends to one of ours is a machine's (D146), so its answer would show nothing.
    if mailboxes::at(tx, workspace, std::slice::from_ref(&email)).await?.is_some() {
        return Err(Error::problem(
            "address",
            "is that of an inbox. Write to this inbox from another mail program instead",
        ));
    }
    let contact = Contact { name: Some(person.name.clone()), email: Some(email.clone()) };
    let conversation = start::start(tx, &mailbox, &contact, SUBJECT).await?;
    let body = format!(
        "Hello {},\n\nthis mail left from {}. If you read it, sending works.\n\n\
         Now answer it: your answer should show up in {} within a minute. Then receiving works too.",
        person.name, mailbox.address, mailbox.name
    );
    let reply = NewReply { body: &body, summary: None, asks: None, send: true };
    let sends_at = tx.now();
    let destination = Destination { addressed: None, to: email };
    write_to(app, tx, &conversation, person, reply, destination, Some(sends_at)).await
}
