//! Mail about bookings: invitations, what became of them, one reminder (D276). Each leaves under a lease with a Message-ID of its
//! own that every try repeats, so that a node that dies sends nothing twice. The visitor reads nothing here that a visitor
//! wrote; the host reads everything.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::outgoing::compose::calendar::{self, Calendar};
use crate::outgoing::dkim;
use rookery_base::app::App;
use rookery_base::due::lease::{self, Claim, Lease, TriedRow, Work};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId, MessageId, WorkspaceId};
use rookery_base::links::without_links;
use rookery_base::relay::logged::Withheld;
use rookery_base::relay::mailer::{Copies, Handover, OutgoingLetter, Refusal};
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::workspace::domains::{self, MaySend};
use rookery_product::bookings::invitation::{Invitation, Method, People, uid, uid_of_host};
use rookery_product::bookings::mails::{self, BookingMailKind, BookingRecipient, ClaimedBookingMail};
use rookery_product::bookings::read::{self, BookingRow, BookingState};
use rookery_product::bookings::{link, tell};
use rookery_product::replies::suppress::{Reason, is_suppressed, suppress};

/// The worker's loop.
pub const LOOP: &str = "send booking mail";

/// Works off every mail about bookings that is due now.
pub async fn invite_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Invitations, at_once).await
}

struct Invitations;

impl Work for Invitations {
    const WHAT: &'static str = "a booking's mail";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = ClaimedBookingMail;
    type Outcome = Result<(), Refusal>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<ClaimedBookingMail>> {
        mails::claim(conn, lease.began, lease.ends).await
    }

    fn claim_of(&self, mail: &ClaimedBookingMail) -> Claim {
        Claim { workspace: mail.workspace, number: mail.claim, tries: mail.tries }
    }

    async fn act(&self, app: &App, mail: &ClaimedBookingMail) -> Result<TriedRow<Self::Outcome>> {
        let booking = read::find(&mut *app.connection().await?, mail.workspace, mail.booking).await?;
        let Some(booking) = booking.map(without_links_in_names) else { return Ok(TriedRow::Gone) };
        let written = match write(app, mail, &booking).await? {
            Draft::Written(written) => *written,
            Draft::TooLate => return Ok(TriedRow::Done(Ok(()))),
            Draft::Refused(refusal) => return Ok(TriedRow::Done(Err(refusal))),
            Draft::Waits => return Ok(TriedRow::Waits),
        };
        Ok(match hand_over(app, &written).await? {
            Handover::Accepted => TriedRow::Done(Ok(())),
            Handover::Refused(refusal) => TriedRow::Done(Err(refusal)),
            Handover::Later => TriedRow::Later,
        })
    }

    async fn finish(
        &self,
        tx: &mut Tx<'_>,
        mail: &ClaimedBookingMail,
        outcome: Self::Outcome,
    ) -> Result<bool> {
        if !mails::done(tx, mail).await? {
            return Ok(false);
        }
        if let Err(refusal) = outcome {
            undeliverable(tx, mail, refusal).await?;
        }
        Ok(true)
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        mail: &ClaimedBookingMail,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        mails::again(tx, mail, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, mail: &ClaimedBookingMail) -> Result<bool> {
        tracing::warn!(workspace = %mail.workspace, booking = %mail.booking, "a booking's mail cannot be sent");
        self.finish(tx, mail, Err(Refusal::GaveUp)).await
    }
}

/// Names from before they could hold no link.
fn without_links_in_names(booking: BookingRow) -> BookingRow {
    BookingRow {
        name: booking.name.as_deref().map(|name| without_links(name).into_owned()),
        type_name: without_links(&booking.type_name).into_owned(),
        host_name: without_links(&booking.host_name).into_owned(),
        ..booking
    }
}

/// What a refusal means: an address that is not there gets no more mail, and the host is told of all but a reminder.
async fn undeliverable(tx: &mut Tx<'_>, mail: &ClaimedBookingMail, refusal: Refusal) -> Result<()> {
    let booking = read::find(tx, mail.workspace, mail.booking).await?;
    let Some(booking) = booking.filter(|_| mail.recipient == BookingRecipient::Visitor) else {
        return Ok(());
    };
    if let (Refusal::NoSuchAddress, Some(address)) = (refusal, &booking.email) {
        suppress(tx, true, address, Reason::Bounce, None).await?;
    }
    match mail.kind {
        BookingMailKind::Reminder => Ok(()),
        BookingMailKind::Invitation | BookingMailKind::Cancellation => {
            tell::undeliverable(tx, &booking).await
        }
    }
}

/// What became of writing a mail.
enum Draft {
    Written(Box<WrittenInvitation>),
    /// Or nobody is there to get it.
    TooLate,
    Refused(Refusal),
    /// Nobody knows now whether its inbox may send.
    Waits,
}

struct WrittenInvitation {
    letter: OutgoingLetter,
    mailbox: MailboxId,
    date: DateTime<Utc>,
    calendar: Option<Calendar>,
}

async fn hand_over(app: &App, written: &WrittenInvitation) -> Result<Handover> {
    let WrittenInvitation { letter, mailbox, date, calendar } = written;
    let calendar = calendar.as_ref().map(|own| Calendar { method: own.method, text: own.text.clone() });
    let key = app.config.needs_secret_key()?.newest();
    let mut mail = calendar::compose(letter, *mailbox, *date, calendar, key);
    dkim::sign(app, letter, *date, &mut mail).await?;
    app.mailer.hand_over(letter, &mail).await
}

/// Whom it comes from.
struct From {
    workspace_name: String,
    mailbox: MailboxId,
    address: String,
    name: String,
    host_is_here: bool,
    /// The host sees the conversation that it belongs to.
    host_sees: bool,
    reminds_at: Option<DateTime<Utc>>,
}

async fn from(conn: &mut PgConnection, workspace: WorkspaceId, booking: &BookingRow) -> Result<From> {
    let row = sqlx::query!(
        r#"select w.name as workspace_name, m.id as "mailbox: MailboxId", m.address, m.name, t.remind_minutes,
               p.removed_at is null as "host_is_here!",
               exists (select from conversations c where c.workspace_id = $1 and c.id = $4
                         and c.audience in (0, $3)) as "host_sees!"
           from booking_types t join workspaces w on w.id = t.workspace_id
           join mailboxes m on m.workspace_id = t.workspace_id and m.id = t.mailbox_id
           join people p on p.workspace_id = t.workspace_id and p.id = $3
           where t.workspace_id = $1 and t.id = $2"#,
        workspace.0,
        booking.type_id.0,
        booking.host.0,
        booking.conversation.map(|conversation| conversation.0)
    )
    .fetch_one(conn)
    .await?;
    let remind = row.remind_minutes.map(|minutes| chrono::TimeDelta::minutes(minutes.into()));
    Ok(From {
        workspace_name: without_links(&row.workspace_name).into_owned(),
        mailbox: row.mailbox,
        address: row.address,
        name: without_links(&row.name).into_owned(),
        host_is_here: row.host_is_here,
        host_sees: row.host_sees,
        reminds_at: remind.map(|remind| (booking.starts_at - remind).max(booking.created_at)),
    })
}

/// The mail as every try sends it. A visitor whose mail came back, or who complained, is not written to.
async fn write(app: &App, mail: &ClaimedBookingMail, booking: &BookingRow) -> Result<Draft> {
    let is_booked = booking.state == BookingState::Booked;
    let is_late = match mail.kind {
        BookingMailKind::Invitation => !is_booked,
        BookingMailKind::Reminder => !is_booked || booking.starts_at <= app.clock.now(),
        BookingMailKind::Cancellation => is_booked,
    };
    let (Some(visitor), false) = (&booking.email, is_late) else { return Ok(Draft::TooLate) };
    let mut tx = app.begin(mail.workspace).await?;
    let from = from(&mut tx, mail.workspace, booking).await?;
    let is_visitors = mail.recipient == BookingRecipient::Visitor;
    let must_not = is_visitors && is_suppressed(&mut tx, true, visitor).await?;
    drop(tx);
    let withhold = |refusal| {
        let to = if is_visitors { visitor } else { &booking.host_email };
        let (workspace, message) = (mail.workspace, MessageId(booking.id.0));
        let withheld = Withheld { workspace, conversation: None, message, from: &from.address, to, refusal };
        withheld.log(app.config.log_addresses);
        Draft::Refused(refusal)
    };
    if must_not {
        return Ok(withhold(Refusal::Suppressed));
    }
    match domains::may_send(app, mail.workspace, &from.address).await? {
        MaySend::Yes => {}
        MaySend::No => return Ok(withhold(Refusal::Unproven)),
        MaySend::Unknown => return Ok(Draft::Waits),
    }
    if !is_visitors && !from.host_is_here {
        return Ok(Draft::TooLate);
    }
    let link = link::manage_link(app, mail.workspace, booking.series, booking.generation)?;
    let (to, subject, text) = match mail.recipient {
        BookingRecipient::Visitor => {
            let (subject, text) = to_visitor(mail.kind, booking, &from, &link);
            (visitor.clone(), subject, text)
        }
        BookingRecipient::Host => {
            let (subject, text) = to_host(app, mail.kind, booking, &from, visitor);
            (booking.host_email.clone(), subject, text)
        }
    };
    let date = match mail.kind {
        BookingMailKind::Invitation => booking.created_at,
        BookingMailKind::Cancellation => booking.ended_at.unwrap_or(booking.created_at),
        BookingMailKind::Reminder => from.reminds_at.unwrap_or(booking.created_at),
    };
    let name = app.config.mail_name();
    let letter = OutgoingLetter {
        workspace: mail.workspace,
        // It belongs to no conversation.
        conversation: ConversationId(0),
        message: MessageId(booking.id.0),
        rfc_message_id: format!(
            "{}.{}.{}.{}@{name}",
            booking.id,
            mail.workspace,
            mail.recipient.as_str(),
            mail.kind.as_str()
        ),
        from_name: Some(from.name.clone()),
        from: from.address.clone(),
        to: to.clone(),
        copies: Copies::default(),
        subject,
        text: text.clone(),
    };
    let method = match mail.kind {
        BookingMailKind::Invitation => Some(Method::Request),
        BookingMailKind::Cancellation => Some(Method::Cancel),
        BookingMailKind::Reminder => None,
    };
    let calendar = method.map(|method| {
        let parts = InvitationParts { to: &to, text: &text, link: &link, mail_name: &name };
        let invitation = invitation(method, mail.recipient, booking, &from, &parts, date);
        Calendar { method: method.as_str(), text: invitation }
    });
    Ok(Draft::Written(Box::new(WrittenInvitation { letter, mailbox: from.mailbox, date, calendar })))
}

/// What an invitation says beside the booking.
struct InvitationParts<'a> {
    to: &'a str,
    text: &'a str,
    link: &'a str,
    mail_name: &'a str,
}

fn invitation(
    method: Method,
    recipient: BookingRecipient,
    booking: &BookingRow,
    from: &From,
    parts: &InvitationParts<'_>,
    stamp: DateTime<Utc>,
) -> String {
    let InvitationParts { to, text, link, mail_name } = *parts;
    let visitor = booking.name.as_deref().unwrap_or_default();
    let (uid, summary, attendee) = match recipient {
        BookingRecipient::Visitor => {
            (uid(booking.series, mail_name), format!("{} with {}", booking.type_name, booking.host_name), "")
        }
        BookingRecipient::Host => (
            uid_of_host(booking.series, booking.host, mail_name),
            format!("{} with {visitor}", booking.type_name),
            booking.host_name.as_str(),
        ),
    };
    // Whoever cancels is newer than what was sent last.
    let sequence = booking.sequence + i32::from(method == Method::Cancel);
    Invitation {
        method,
        uid,
        sequence,
        stamp,
        starts_at: booking.starts_at,
        ends_at: booking.ends_at,
        summary: &summary,
        description: text,
        place: &booking.place,
        url: (recipient == BookingRecipient::Visitor).then_some(link),
        people: Some(People {
            organizer: (&from.name, &from.address),
            attendee: (attendee, to),
            answers: recipient == BookingRecipient::Visitor,
        }),
    }
    .text()
}

fn to_visitor(kind: BookingMailKind, booking: &BookingRow, from: &From, link: &str) -> (String, String) {
    let zone = Zone::named(booking.time_zone.as_deref().unwrap_or(&booking.host_zone));
    let short = zone.shows(booking.starts_at).format("%A, %-d %B, %H:%M").to_string();
    let title = format!("{} with {}", booking.type_name, booking.host_name);
    let (subject, opening) = match kind {
        BookingMailKind::Invitation if booking.sequence > 0 => {
            (format!("Moved: {title}, {short}"), "Your booking has another time now.".to_owned())
        }
        BookingMailKind::Invitation => {
            (format!("Booked: {title}, {short}"), "Your time is booked.".to_owned())
        }
        BookingMailKind::Cancellation => {
            let by_host = booking.ended_by.as_deref() == Some("host");
            let opening = if by_host {
                format!("{} had to cancel this booking.", booking.host_name)
            } else {
                "This booking is cancelled.".to_owned()
            };
            (format!("Cancelled: {title}, {short}"), opening)
        }
        BookingMailKind::Reminder => {
            (format!("Reminder: {title}, {short}"), "This is a friendly reminder.".to_owned())
        }
    };
    let mut text = format!("{opening}\n\n{title}, {}\n{}\n", from.workspace_name, booking.when(&zone));
    if !booking.place.is_empty() {
        text.push_str(&format!("{}\n", booking.place));
    }
    let own_words = booking.reason.as_deref().filter(|_| booking.ended_by.as_deref() == Some("host"));
    if let (BookingMailKind::Cancellation, Some(reason)) = (kind, own_words) {
        text.push_str(&format!("\n{reason}\n"));
    }
    if kind != BookingMailKind::Cancellation {
        text.push_str(&format!("\nMove or cancel it here:\n{link}\n"));
    }
    (subject, text)
}

fn to_host(
    app: &App,
    kind: BookingMailKind,
    booking: &BookingRow,
    from: &From,
    email: &str,
) -> (String, String) {
    let zone = Zone::named(&booking.host_zone);
    let short = zone.shows(booking.starts_at).format("%a %-d %b, %H:%M").to_string();
    let name = booking.name.as_deref().unwrap_or_default();
    let what = match kind {
        BookingMailKind::Cancellation if booking.state == BookingState::Moved => "Given to a colleague",
        BookingMailKind::Cancellation => "Cancelled",
        BookingMailKind::Invitation | BookingMailKind::Reminder if booking.sequence > 0 => "Moved",
        BookingMailKind::Invitation | BookingMailKind::Reminder => "Booked",
    };
    let subject = format!("{what}: {} with {name}, {short}", booking.type_name);
    let mut text = format!("{}\n{}\n\n{name} <{email}>\n", booking.type_name, booking.when(&zone));
    for answer in booking.answers.iter().flat_map(|answers| &answers.0) {
        text.push_str(&format!("\n{}\n{}\n", answer.question, answer.answer));
    }
    if let Some(note) = booking.note.as_deref().filter(|note| !note.is_empty()) {
        text.push_str(&format!("\n{note}\n"));
    }
    if let Some(conversation) = booking.conversation.filter(|_| from.host_sees) {
        let here = app.config.public_url.as_str().trim_end_matches('/');
        text.push_str(&format!("\nThe conversation:\n{here}/conversations/{conversation}\n"));
    }
    (subject, text)
}
