//! `POST /messages/msg_…/send-now`: who wrote and sent a mail gives up the rest of the time in which they could take it back.
//! The form carries the time that was shown.

use axum::response::Response;

use crate::bulk::asked_action::where_from;
use crate::outgoing::clock::shown_time;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::MessageId;
use rookery_product::replies::leaving::now::{SentNow, send_now};

pub async fn send(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let shown = shown_time(&form)?;
    let mut tx = asked.tx().await?;
    let (sent, conversation) = send_now(&mut tx, &asked.person, message, shown).await?;
    tx.commit().await?;
    let done = match sent {
        SentNow::Leaves => Done::SentNow,
        SentNow::Crossed => Done::TimeCrossed,
        SentNow::Stopped => Done::StoppedAlready,
        SentNow::Already => Done::OnItsWay,
    };
    let back = where_from(&asked).unwrap_or_else(|| format!("/conversations/{conversation}"));
    Ok(respond::see_other_with(&back, Toast::new(done, "")))
}
