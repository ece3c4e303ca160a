//! Mail of a simulated customer (specification 4.14): written out as a real message, and taken in by the pipeline that
//! real mail takes.

use mail_builder::MessageBuilder;
use mail_builder::headers::message_id::MessageId;
use sqlx::PgConnection;

use crate::incoming::authenticate::Dmarc;
use crate::incoming::delivery::{Asking, Delivery, Received};
use crate::incoming::receive::receive;
use rookery_base::app::App;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::rate::{RateKey, too_much_mail};
use rookery_base::store::connection::DatabaseConnection;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::workspace::mailboxes::{self, Mailbox};
use rookery_reading::mail::plus_tag;
use rookery_reading::text;

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

/// What a form or a call may hold, in characters.
pub const LONGEST_ADDRESS: usize = 254;
pub const LONGEST_NAME: usize = 200;
pub const LONGEST_SUBJECT: usize = 998;
pub const LONGEST_TEXT: usize = 100_000;

/// Takes a simulated mail in, as one that came from outside. What an agent asked for ends with all agents.
pub async fn simulate(
    app: &App,
    workspace: WorkspaceId,
    mail: Simulated,
    asked: Option<Asking>,
) -> Result<Stored> {
    mail.check()?;
    let mut conn = app.connection().await?;
    let delivery = Delivery { asked, ..delivery(&mut conn, app, workspace, mail).await? };
    take_in(app, conn, workspace, delivery).await
}

/// The same for an inbox that is there to be tried. It begins a conversation.
pub(super) async fn simulate_to(
    app: &App,
    workspace: WorkspaceId,
    mailbox: Mailbox,
    mail: Simulated,
) -> Result<Stored> {
    mail.check()?;
    let conn = app.connection().await?;
    // A mail that has just been written, as far as the inbox can tell.
    let delivery = Delivery { may_be_answered: true, ..written(app, mailbox, mail)? };
    take_in(app, conn, workspace, delivery).await
}

async fn take_in(
    app: &App,
    mut conn: DatabaseConnection,
    workspace: WorkspaceId,
    delivery: Delivery,
) -> Result<Stored> {
    let now = app.clock.now();
    let (subject, limit) = (RateKey::SandboxMail(workspace), app.config.sandbox_mail_limit());
    if let Err(retry_after) = app.rate.take(&mut conn, subject, limit, now).await? {
        return Err(too_much_mail(limit, retry_after));
    }
    drop(conn);
    let taken = match receive(app, workspace, delivery).await {
        Ok(Received::Stored(stored) | Received::Duplicate(stored)) => Ok(stored),
        Ok(Received::Refused(refusal)) => Err(Error::problem("text", refusal.to_string())),
        Err(error) => Err(error),
    };
    if taken.is_err() || app.is_dry() {
        app.rate.give_back(subject, limit, now).await;
    }
    taken
}

impl Simulated {
    /// The rules of the operation's schema, for whoever did not come by it.
    pub(super) fn check(&self) -> Result<()> {
        let mut problems = Vec::new();
        let mut wrong = |field: &str, what: String| problems.push(Problem { field: field.into(), what });
        if !is_simulated_sender(&self.from) {
            wrong("from", "must be a mail address on a .test domain".into());
        }
        for (field, text, most) in [
            ("from", Some(&self.from), LONGEST_ADDRESS),
            ("name", self.name.as_ref(), LONGEST_NAME),
            ("subject", self.subject.as_ref(), LONGEST_SUBJECT),
            ("text", Some(&self.text), LONGEST_TEXT),
        ] {
            if text.is_some_and(|text| text.chars().count() > most) {
                wrong(field, format!("must be at most {most} characters"));
            }
        }
        if self.text.chars().all(|letter| letter.is_whitespace() || letter.is_control()) {
            wrong("text", "must not be blank".into());
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::Problems(problems)) }
    }
}

/// What a parser would take for more than the address (quotes, comments, controls, characters that do not
/// show) cannot stand in it. The operation publishes the same as a pattern.
pub fn is_simulated_sender(address: &str) -> bool {
    let refused = |letter: char| {
        letter.is_whitespace()
            || letter.is_ascii_control()
            || "\"(),:;<>@[\\]".contains(letter)
            || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{206f}' | '\u{feff}')
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let labels: Vec<&str> = domain.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    !local.is_empty()
        && !local.contains(refused)
        && labels.len() > 1
        && labels.iter().all(is_label)
        && labels.last().is_some_and(|last| last.eq_ignore_ascii_case("test"))
}

/// The simulated mail for the sandbox inbox.
async fn delivery(
    conn: &mut PgConnection,
    app: &App,
    workspace: WorkspaceId,
    mail: Simulated,
) -> Result<Delivery> {
    let mailbox = mailboxes::sandbox(conn, workspace).await?;
    if let Some(to) = &mail.to
        && !to.eq_ignore_ascii_case(&mailbox.address)
        && plus_tag::tag_of(to, &mailbox.address).is_none()
    {
        return Err(Error::problem("to", "must be the sandbox address, with a plus tag if you like"));
    }
    written(app, mailbox, mail)
}

/// The mail as it would arrive at an inbox.
fn written(app: &App, mailbox: Mailbox, mail: Simulated) -> Result<Delivery> {
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
    let delivery = Delivery::from_raw(mailbox, message.write_to_vec()?, mail.dmarc);
    Ok(Delivery { recipient: mail.to, joins: mail.joins.map(|conversation| conversation.id), ..delivery })
}
