//! The sandbox (specification 4.14, 8.3). A simulated email is rendered as a real one, so that everything from
//! parsing on is the same as for received mail. Sent mail is recorded in a table.

pub mod answer;
pub mod deliver;
mod invoice;
pub mod magic;

use mail_builder::MessageBuilder;
use mail_builder::headers::message_id::MessageId;
use sqlx::PgConnection;

use crate::app::App;
use crate::app_mail::reference;
use crate::conversations::conversation::Conversation;
use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::incoming::authenticate::Dmarc;
use crate::incoming::delivery::Delivery;
use crate::text;
use crate::workspace::mailboxes;

pub struct Simulated {
    pub from: String,
    pub name: Option<String>,
    pub subject: Option<String>,
    pub text: String,
    pub files: Vec<SimulatedFile>,
    pub joins: Option<Conversation>,
    /// The sandbox address, with a plus tag perhaps.
    pub to: Option<String>,
    pub in_reply_to: Option<String>,
    pub dmarc: Dmarc,
}

pub struct SimulatedFile {
    pub filename: String,
    pub content_type: String,
    pub content: Vec<u8>,
}

/// The simulated mail, as it would arrive at the sandbox inbox.
pub async fn delivery(
    conn: &mut PgConnection,
    app: &App,
    workspace: WorkspaceId,
    mail: Simulated,
) -> Result<Delivery> {
    let mailbox = mailboxes::sandbox(conn, workspace).await?;
    if let Some(to) = &mail.to
        && !to.eq_ignore_ascii_case(&mailbox.address)
        && reference::tag_of(to, &mailbox.address).is_none()
    {
        return Err(Error::problem("to", "must be the sandbox address, with a plus tag if you like"));
    }
    let domain = mail.from.rsplit('@').next().unwrap_or("sandbox.test").to_lowercase();
    let subject = match (&mail.subject, &mail.joins) {
        (Some(subject), _) => subject.clone(),
        (None, Some(conversation)) => format!("Re: {}", conversation.subject),
        (None, None) => String::new(),
    };
    // One line each, to prevent header injection.
    let mut message = MessageBuilder::new()
        .message_id(MessageId::new(format!("{}@{domain}", app.random.hex(32))))
        .date(app.clock.now().timestamp())
        .from((text::line(mail.name.as_deref().unwrap_or_default()), mail.from))
        .to(mail.to.clone().unwrap_or_else(|| mailbox.address.clone()))
        .subject(text::line(&subject))
        .text_body(mail.text);
    if let Some(answered) = mail.in_reply_to.filter(|_| mail.joins.is_none()) {
        message = message.in_reply_to(MessageId::new(text::line(answered.trim_matches(['<', '>', ' ']))));
    }
    for file in mail.files {
        message = message.attachment(file.content_type, text::line(&file.filename), file.content);
    }
    let delivery = Delivery::of(mailbox, message.write_to_vec()?, mail.dmarc);
    Ok(Delivery { recipient: mail.to, joins: mail.joins.map(|conversation| conversation.id), ..delivery })
}
