//! `/messages/msg_…/again`: what could not be delivered, and what came since, as a question. The answer carries what was
//! shown; then it is sent again, once, and leaves like any reply.

use askama::Template;
use axum::response::Response;

use crate::conversations::messages::message::Direction;
use crate::error::Result;
use crate::ids::MessageId;
use crate::replies::crossing::News;
use crate::replies::leaving::again::{Again, Look, look, send_again};
use crate::store::db::Handle;
use crate::web::conversation::words;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "outgoing/again.html")]
struct AgainPage {
    shell: Shell,
    message: MessageId,
    look: Look,
    window: i64,
}

impl AgainPage {
    fn is_of_customer(&self, news: &News) -> bool {
        news.direction == Direction::Inbound
    }

    fn can_be_sent(&self) -> bool {
        self.look.is_failed
            && self.look.became.is_none()
            && self.look.barred.is_empty()
            && !self.look.to.is_empty()
    }
}

pub async fn show(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let mut snapshot = asked.snapshot().await?;
    let now = snapshot.now();
    let keys = asked.app().config.secret_key.as_ref();
    let look = look(&mut snapshot, keys, &asked.person, now, message).await?;
    let shell = Shell::load(&mut snapshot, &asked, Here::Outgoing).await?;
    let window = asked.app().config.undo_window(true).num_minutes();
    respond::page(&AgainPage { shell, message, look, window })
}

pub async fn send(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let seen = form.parse("seen")?.unwrap_or_default();
    let mut tx = asked.tx().await?;
    let (again, conversation) = send_again(asked.app(), &mut tx, &asked.person, message, seen).await?;
    tx.commit().await?;
    let (here, question) = (format!("/conversations/{conversation}"), format!("/messages/{message}/again"));
    Ok(match again {
        Again::Sent(new) => respond::see_other_with(&here, Toast::new(Done::SentAgain, new)),
        Again::Already(new) => respond::see_other_with(&here, Toast::new(Done::AgainAlready, new)),
        Again::NotFailed => respond::see_other_with(&here, Toast::new(Done::NotFailed, message)),
        Again::Crossed => respond::see_other_with(&question, Toast::new(Done::Outdated, message)),
        // The page says which address it is.
        Again::Barred => respond::see_other(&question),
    })
}
