//! `/messages/msg_…/again`: the mail that would leave in the place of one that could not be delivered, and what came since, as a
//! question. The answer carries what was shown; then it is sent again, once, and leaves like any reply.

use askama::Template;
use axum::response::Response;

use crate::conversation::files::{Chip, chips};
use crate::conversation::words;
use crate::outgoing::clock::stop_time;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MessageId;
use rookery_base::store::db::Handle;
use rookery_core::conversations::messages::message::Direction;
use rookery_mail::outgoing::whole_mail::{self, WholeMail};
use rookery_product::replies::crossing::CrossingMail;
use rookery_product::replies::leaving::again::{Look, SendAgainOutcome, load_preview, send_again};

#[derive(Template)]
#[template(path = "outgoing/again.html")]
struct AgainPage {
    shell: Shell,
    message: MessageId,
    look: Look,
    mail: WholeMail,
    window: String,
}

impl AgainPage {
    fn is_of_customer(&self, news: &CrossingMail) -> bool {
        news.direction == Direction::Inbound
    }

    fn files(&self) -> Vec<Chip> {
        chips(self.message, &self.mail.files)
    }

    fn can_be_sent(&self) -> bool {
        self.look.is_failed
            && self.look.became.is_none()
            && self.look.barred.is_empty()
            && !self.look.to.is_empty()
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let mut snapshot = asked.snapshot().await?;
    let now = snapshot.now();
    let keys = asked.app().config.secret_key.as_ref();
    let look = load_preview(&mut snapshot, keys, &asked.person, now, message).await?;
    let failed = whole_mail::of_message(&mut snapshot, asked.person.workspace, message).await?;
    let shell = Shell::load(&mut snapshot, &asked, Here::Outgoing).await?;
    drop(snapshot);
    let window = stop_time(&asked);
    let mut page = AgainPage { shell, message, look, mail: failed, window };
    if page.can_be_sent()
        && let Some(mail) = would_leave(&asked, message, page.look.seen).await?
    {
        page.mail = mail;
    }
    respond::page(&page)
}

/// The mail as it would leave, found by a dry run of sending it again: it quotes what is the newest now, and may have
/// another subject than the one that failed. None if it cannot be sent; the answer to the form then says why.
async fn would_leave(asked: &MemberRequest, message: MessageId, seen: i32) -> Result<Option<WholeMail>> {
    let (app, workspace) = (asked.app().dry(), asked.person.workspace);
    let mut tx = app.begin(workspace).await?;
    let sent = match send_again(&app, &mut tx, &asked.person, message, seen).await {
        Err(Error::Problems(_) | Error::Conflict(_)) => return Ok(None),
        sent => sent?.0,
    };
    let SendAgainOutcome::Sent(new) = sent else { return Ok(None) };
    let mail = whole_mail::of_message(&mut tx, workspace, new).await?;
    tx.commit().await?;
    Ok(Some(mail))
}

pub async fn send(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let seen = form.parse("seen")?.unwrap_or_default();
    let mut tx = asked.tx().await?;
    let (again, conversation) = send_again(asked.app(), &mut tx, &asked.person, message, seen).await?;
    tx.commit().await?;
    let (here, question) = (format!("/conversations/{conversation}"), format!("/messages/{message}/again"));
    Ok(match again {
        SendAgainOutcome::Sent(new) => respond::see_other_with(&here, Toast::new(Done::SentAgain, new)),
        SendAgainOutcome::Already(new) => respond::see_other_with(&here, Toast::new(Done::AgainAlready, new)),
        SendAgainOutcome::NotFailed => respond::see_other_with(&here, Toast::new(Done::NotFailed, message)),
        SendAgainOutcome::Crossed => respond::see_other_with(&question, Toast::new(Done::Outdated, message)),
        // The page says which address it is.
        SendAgainOutcome::Barred => respond::see_other(&question),
    })
}
