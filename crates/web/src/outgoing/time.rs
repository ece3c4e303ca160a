//! `POST /messages/msg_…/time`: anybody of the team changes when a message leaves that waits for a later time. The form
//! carries the time that was shown, so that of two who change it one is told.

use axum::response::Response;

use crate::conversation::later;
use crate::outgoing::clock::shown_time;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MessageId;
use rookery_product::replies::leaving::time::{Moved, change_time};

pub async fn change(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let shown = shown_time(&form)?;
    let chosen = form.get("later").or(form.get("at")).unwrap_or_default();
    let at = later::read(&asked.times(), chosen)
        .ok_or_else(|| Error::problem("at", "is no day and time. Choose one and try again"))?;
    let mut tx = asked.tx().await?;
    let (moved, _) = change_time(asked.app(), &mut tx, &asked.person, message, shown, at).await?;
    tx.commit().await?;
    let done = match moved {
        Moved::To(_) => Done::TimeChanged,
        Moved::Crossed => Done::TimeCrossed,
        Moved::TooLate => Done::TimeTooLate,
    };
    Ok(respond::see_other_with("/outgoing", Toast::new(done, message)))
}
