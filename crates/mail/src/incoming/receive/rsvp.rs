//! Mail in which a calendar program answers an invitation of ours. Only what its sender's domain vouches for counts: DMARC has
//! passed, there is one sender, and it is who was invited. Anything else is mail like any other.

use crate::incoming::delivery::Delivery;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_product::bookings::rsvp::{self, HeardAnswer};
use rookery_reading::calendar;
use rookery_reading::mail::parse::ParsedMail;

const TYPES: &[&str] = &["text/calendar", "application/ics"];

pub(super) async fn heard(
    tx: &mut Tx<'_>,
    app: &App,
    delivery: &Delivery,
    mail: &ParsedMail,
) -> Result<Option<HeardAnswer>> {
    let Some(from) = mail.from.as_ref().filter(|_| mail.single_from) else { return Ok(None) };
    if !delivery.mailbox.livemode() || !delivery.verdict.is_confirmed() {
        return Ok(None);
    }
    let mut parts = mail.attachments.iter().filter(|part| TYPES.contains(&part.content_type.as_str()));
    let Some(reply) = parts.find_map(|part| calendar::reply(&part.content)) else { return Ok(None) };
    rsvp::find(tx, &app.config.mail_name(), &reply, &from.email).await
}
