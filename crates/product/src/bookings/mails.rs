//! Which mail about bookings is to leave, and when: rows that are written with the change they tell of and worked off under
//! a lease. What a newer change makes wrong is withdrawn; what may be on its way is waited for, so that calendars hear of
//! things in their order.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::bookings::read::BookingRow;
use rookery_base::due::turns::claim_by_turns;
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, WorkspaceId};
use rookery_base::store::db::Tx;

/// The longest that a newer mail waits for one that may be on its way.
const ON_ITS_WAY: TimeDelta = TimeDelta::minutes(10);

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum BookingRecipient {
        Visitor = "visitor",
        Host = "host",
    }
}

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum BookingMailKind {
        /// Also when it was moved: the same event of the calendar, with a higher sequence.
        Invitation = "invitation",
        Cancellation = "cancellation",
        Reminder = "reminder",
    }
}

/// What became of the mails of a booking when something newer came.
#[derive(Default)]
pub(super) struct Withdrawn {
    /// Whose invitation had not left, and was in nobody's hands.
    unsent: Vec<BookingRecipient>,
    /// When what is in somebody's hands has left or come back.
    pub until: Option<DateTime<Utc>>,
}

impl Withdrawn {
    pub fn never_left(&self, recipient: BookingRecipient) -> bool {
        self.unsent.contains(&recipient)
    }
}

/// Takes back what has not left.
pub(super) async fn withdraw(tx: &mut Tx<'_>, booking: BookingId) -> Result<Withdrawn> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let rows = sqlx::query!(
        r#"delete from booking_mail where workspace_id = $1 and booking_id = $2 and due_at is not null
           returning recipient as "recipient: BookingRecipient", kind as "kind: BookingMailKind", claim, due_at as "due_at!""#,
        workspace,
        booking.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut withdrawn = Withdrawn::default();
    for row in rows.iter().filter(|row| row.kind == BookingMailKind::Invitation) {
        if row.claim == 0 {
            withdrawn.unsent.push(row.recipient);
        } else {
            let until = row.due_at.min(now + ON_ITS_WAY);
            withdrawn.until = withdrawn.until.max(Some(until));
        }
    }
    Ok(withdrawn)
}

/// Invitations for both, and the reminder. What has left already does not leave again.
pub(super) async fn invite(
    tx: &mut Tx<'_>,
    booking: BookingId,
    starts_at: DateTime<Utc>,
    remind: Option<TimeDelta>,
    not_before: Option<DateTime<Utc>>,
) -> Result<()> {
    let now = tx.now();
    let due = not_before.unwrap_or(now).max(now);
    for recipient in BookingRecipient::ALL {
        add(tx, booking, recipient, BookingMailKind::Invitation, due).await?;
    }
    // Booked shortly before, the invitation is reminder enough.
    let remind_at = remind.map(|ahead| starts_at - ahead).filter(|at| *at > due);
    if let Some(remind_at) = remind_at {
        add(tx, booking, BookingRecipient::Visitor, BookingMailKind::Reminder, remind_at).await?;
    }
    Ok(())
}

pub(super) async fn add(
    tx: &mut Tx<'_>,
    booking: BookingId,
    recipient: BookingRecipient,
    kind: BookingMailKind,
    due_at: DateTime<Utc>,
) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "insert into booking_mail (workspace_id, booking_id, recipient, kind, due_at) values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, booking_id, recipient, kind) do nothing",
        workspace,
        booking.0,
        recipient.as_str(),
        kind.as_str(),
        due_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Tells both that it is cancelled, but for whom nothing had ever told that it was booked.
pub(super) async fn cancel(tx: &mut Tx<'_>, booking: &BookingRow, due_at: DateTime<Utc>) -> Result<()> {
    let withdrawn = withdraw(tx, booking.id).await?;
    let due_at = withdrawn.until.map_or(due_at, |until| until.max(due_at));
    for recipient in BookingRecipient::ALL {
        if booking.sequence > 0 || !withdrawn.never_left(recipient) {
            add(tx, booking.id, recipient, BookingMailKind::Cancellation, due_at).await?;
        }
    }
    Ok(())
}

/// Takes the cancellations back. False when one may have left.
pub(super) async fn uncancel(tx: &mut Tx<'_>, booking: BookingId) -> Result<bool> {
    let workspace = tx.workspace().0;
    let left = sqlx::query_scalar!(
        r#"with gone as (
               delete from booking_mail where workspace_id = $1 and booking_id = $2 and kind = 'cancellation'
                 and due_at is not null and claim = 0
               returning recipient)
           select count(*) as "left!" from booking_mail where workspace_id = $1 and booking_id = $2
             and kind = 'cancellation' and recipient not in (select recipient from gone)"#,
        workspace,
        booking.0
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(left == 0)
}

/// A mail in the hands of this node, until its lease ends.
pub struct ClaimedBookingMail {
    pub workspace: WorkspaceId,
    pub booking: BookingId,
    pub recipient: BookingRecipient,
    pub kind: BookingMailKind,
    pub claim: i32,
    /// Tries in vain.
    pub tries: i16,
}

pub async fn claim(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    lease_ends: DateTime<Utc>,
) -> Result<Vec<ClaimedBookingMail>> {
    Ok(claim_by_turns!(
        ClaimedBookingMail, conn, now, lease_ends, most "20", from "booking_mail", due "due_at", claim "claim",
        only "true", with "", "",
        returning r#"t.workspace_id as "workspace: WorkspaceId", t.booking_id as "booking: BookingId",
                     t.recipient as "recipient: BookingRecipient", t.kind as "kind: BookingMailKind", t.claim, t.tries"#
    ))
}

/// When the next is due.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(due_at) from booking_mail where due_at is not null")
        .fetch_one(conn)
        .await?)
}

/// It has left, or never will. False when this claim is not the newest any more.
pub async fn done(tx: &mut Tx<'_>, mail: &ClaimedBookingMail) -> Result<bool> {
    let workspace = tx.workspace().0;
    let done = sqlx::query!(
        "update booking_mail set due_at = null
         where workspace_id = $1 and booking_id = $2 and recipient = $3 and kind = $4 and claim = $5
           and due_at is not null",
        workspace,
        mail.booking.0,
        mail.recipient.as_str(),
        mail.kind.as_str(),
        mail.claim
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Another try at another time, or the first when it was given back untried.
pub async fn again(
    tx: &mut Tx<'_>,
    mail: &ClaimedBookingMail,
    due_at: DateTime<Utc>,
    tried: bool,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let given_back = sqlx::query!(
        "update booking_mail set due_at = $6, tries = tries + $7
         where workspace_id = $1 and booking_id = $2 and recipient = $3 and kind = $4 and claim = $5
           and due_at is not null",
        workspace,
        mail.booking.0,
        mail.recipient.as_str(),
        mail.kind.as_str(),
        mail.claim,
        due_at,
        i16::from(tried)
    )
    .execute(&mut **tx)
    .await?;
    Ok(given_back.rows_affected() == 1)
}
