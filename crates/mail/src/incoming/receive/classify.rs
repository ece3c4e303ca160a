//! Classify: takes a parsed mail and gives what it is besides somebody's words: a report about our own mail that has proof
//! (`reports`), a calendar's answer to an invitation (`rsvp`), a bounce of a booking's mail. Ordinary mail is none of them.

use std::borrow::Cow;

use super::rsvp;
use crate::incoming::delivery::{Delivery, Incoming};
use crate::incoming::reports::{BouncedBooking, VerifiedReport, bounced_booking, verify_report};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_product::bookings::rsvp::HeardAnswer;
use rookery_reading::mail::parse::ParsedMail;

pub(super) struct Classified<'m> {
    pub delivery: &'m Delivery,
    /// With proof, its report names the message that the proof is for.
    pub mail: Cow<'m, ParsedMail>,
    pub report: Option<VerifiedReport>,
    pub rsvp: Option<HeardAnswer>,
    pub bounced: Option<BouncedBooking>,
}

pub(super) async fn classify<'m>(
    tx: &mut Tx<'_>,
    app: &App,
    incoming: Incoming<'m>,
) -> Result<Classified<'m>> {
    let Incoming { delivery, mail } = incoming;
    let report = verify_report(tx, app, delivery, mail).await?;
    let mail = match &report {
        Some(proven) => Cow::Owned(ParsedMail { report: Some(proven.report.clone()), ..mail.clone() }),
        None => Cow::Borrowed(mail),
    };
    let rsvp = rsvp::heard(tx, app, delivery, &mail).await?;
    let bounced = bounced_booking(tx, app, delivery, &mail).await?;
    Ok(Classified { delivery, mail, report, rsvp, bounced })
}
