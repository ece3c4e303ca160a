//! Mail about bookings: invitations, what became of them, one reminder (D276). Each leaves under a lease with a Message-ID of its
//! own that every try repeats, so that a node that dies sends nothing twice. The visitor reads nothing here that a visitor
//! wrote; the host reads everything.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::app::App;
use crate::bookings::invitation::{Invitation, Method, People, uid, uid_of_host};
use crate::bookings::mails::{self, Claimed, Kind, Recipient};
use crate::bookings::read::{self, BookingRow, BookingState};
use crate::bookings::{link, tell};
use crate::due::lease::{self, Claim, Lease, Tried, Work};
use crate::error::Result;
use crate::ids::{ConversationId, MailboxId, MessageId, WorkspaceId};
use crate::outgoing::compose::calendar::{self, Calendar};
use crate::outgoing::dkim;
use crate::relay::mailer::{Copies, Handover, Letter, Refusal};
use crate::replies::suppress::{Reason, is_suppressed, suppress};
use crate::store::db::Tx;
use crate::zone::Zone;

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

    type Row = Claimed;
    type Outcome = Result<(), Refusal>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<Claimed>> {
        mails::claim(conn, lease.began, lease.ends).await
    }

    fn claim_of(&self, mail: &Claimed) -> Claim {
        Claim { workspace: mail.workspace, number: mail.claim, tries: mail.tries }
    }

    async fn act(&self, app: &App, mail: &Claimed) -> Result<Tried<Self::Outcome>> {
        let booking = read::find(&mut *app.connection().await?, mail.workspace, mail.booking).await?;
        let Some(booking) = booking else { return Ok(Tried::Gone) };
        let written = match write(app, mail, &booking).await? {
            Ok(Some(written)) => written,
            Ok(None) => return Ok(Tried::Done(Ok(()))),
            Err(refusal) => return Ok(Tried::Done(Err(refusal))),
        };
        Ok(match hand_over(app, &written).await? {
            Handover::Accepted => Tried::Done(Ok(())),
            Handover::Refused(refusal) => Tried::Done(Err(refusal)),
            Handover::Later => Tried::Later,
        })
    }

    async fn finish(&self, tx: &mut Tx<'_>, mail: &Claimed, outcome: Self::Outcome) -> Result<bool> {
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
        mail: &Claimed,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        mails::again(tx, mail, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, mail: &Claimed) -> Result<bool> {
        tracing::warn!(workspace = %mail.workspace, booking = %mail.booking, "a booking's mail cannot be sent");
        self.finish(tx, mail, Err(Refusal::GaveUp)).await
    }
}

/// What a refusal means: an address that is not there gets no more mail, and the host is told of all but a reminder.
async fn undeliverable(tx: &mut Tx<'_>, mail: &Claimed, refusal: Refusal) -> Result<()> {
    let booking = read::find(tx, mail.workspace, mail.booking).await?;
    let Some(booking) = booking.filter(|_| mail.recipient == Recipient::Visitor) else { return Ok(()) };
    if let (Refusal::NoSuchAddress, Some(address)) = (refusal, &booking.email) {
        suppress(tx, true, address, Reason::Bounce, None).await?;
    }
    match mail.kind {
        Kind::Reminder => Ok(()),
        Kind::Invitation | Kind::Cancellation => tell::undeliverable(tx, &booking).await,
    }
}

struct Written {
    letter: Letter,
    mailbox: MailboxId,
    date: DateTime<Utc>,
    calendar: Option<Calendar>,
}

async fn hand_over(app: &App, written: &Written) -> Result<Handover> {
    let Written { letter, mailbox, date, calendar } = written;
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
        workspace_name: row.workspace_name,
        mailbox: row.mailbox,
        address: row.address,
        name: row.name,
        host_is_here: row.host_is_here,
        host_sees: row.host_sees,
        reminds_at: remind.map(|remind| (booking.starts_at - remind).max(booking.created_at)),
    })
}

/// The mail as every try sends it; nothing when it is too late for it, or nobody is there to get it. A visitor whose mail came
/// back, or who complained, is not written to.
async fn write(app: &App, mail: &Claimed, booking: &BookingRow) -> Result<Result<Option<Written>, Refusal>> {
    let is_booked = booking.state == BookingState::Booked;
    let is_late = match mail.kind {
        Kind::Invitation => !is_booked,
        Kind::Reminder => !is_booked || booking.starts_at <= app.clock.now(),
        Kind::Cancellation => is_booked,
    };
    let (Some(visitor), false) = (&booking.email, is_late) else { return Ok(Ok(None)) };
    let mut tx = app.begin(mail.workspace).await?;
    let from = from(&mut tx, mail.workspace, booking).await?;
    let is_visitors = mail.recipient == Recipient::Visitor;
    let must_not = is_visitors && is_suppressed(&mut tx, true, visitor).await?;
    drop(tx);
    if must_not {
        return Ok(Err(Refusal::Suppressed));
    }
    if !is_visitors && !from.host_is_here {
        return Ok(Ok(None));
    }
    let link = link::manage_link(app, mail.workspace, booking.series, booking.generation)?;
    let (to, subject, text) = match mail.recipient {
        Recipient::Visitor => {
            let (subject, text) = to_visitor(mail.kind, booking, &from, &link);
            (visitor.clone(), subject, text)
        }
        Recipient::Host => {
            let (subject, text) = to_host(app, mail.kind, booking, &from, visitor);
            (booking.host_email.clone(), subject, text)
        }
    };
    let date = match mail.kind {
        Kind::Invitation => booking.created_at,
        Kind::Cancellation => booking.ended_at.unwrap_or(booking.created_at),
        Kind::Reminder => from.reminds_at.unwrap_or(booking.created_at),
    };
    let name = app.config.mail_name();
    let letter = Letter {
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
        Kind::Invitation => Some(Method::Request),
        Kind::Cancellation => Some(Method::Cancel),
        Kind::Reminder => None,
    };
    let calendar = method.map(|method| {
        let invitation = invitation(method, mail.recipient, booking, &from, (&to, &text, &link, &name), date);
        Calendar { method: method.as_str(), text: invitation }
    });
    Ok(Ok(Some(Written { letter, mailbox: from.mailbox, date, calendar })))
}

fn invitation(
    method: Method,
    recipient: Recipient,
    booking: &BookingRow,
    from: &From,
    (to, text, link, mail_name): (&str, &str, &str, &str),
    stamp: DateTime<Utc>,
) -> String {
    let visitor = booking.name.as_deref().unwrap_or_default();
    let (uid, summary, attendee) = match recipient {
        Recipient::Visitor => {
            (uid(booking.series, mail_name), format!("{} with {}", booking.type_name, booking.host_name), "")
        }
        Recipient::Host => (
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
        url: (recipient == Recipient::Visitor).then_some(link),
        people: Some(People {
            organizer: (&from.name, &from.address),
            attendee: (attendee, to),
            answers: recipient == Recipient::Visitor,
        }),
    }
    .text()
}

fn to_visitor(kind: Kind, booking: &BookingRow, from: &From, link: &str) -> (String, String) {
    let zone = Zone::named(booking.time_zone.as_deref().unwrap_or(&booking.host_zone));
    let short = zone.shows(booking.starts_at).format("%A, %-d %B, %H:%M").to_string();
    let title = format!("{} with {}", booking.type_name, booking.host_name);
    let (subject, opening) = match kind {
        Kind::Invitation if booking.sequence > 0 => {
            (format!("Moved: {title}, {short}"), "Your booking has another time now.".to_owned())
        }
        Kind::Invitation => (format!("Booked: {title}, {short}"), "Your time is booked.".to_owned()),
        Kind::Cancellation => {
            let by_host = booking.ended_by.as_deref() == Some("host");
            let opening = match by_host {
                true => format!("{} had to cancel this booking.", booking.host_name),
                false => "This booking is cancelled.".to_owned(),
            };
            (format!("Cancelled: {title}, {short}"), opening)
        }
        Kind::Reminder => (format!("Reminder: {title}, {short}"), "This is a friendly reminder.".to_owned()),
    };
    let mut text = format!("{opening}\n\n{title}, {}\n{}\n", from.workspace_name, booking.when(&zone));
    if !booking.place.is_empty() {
        text.push_str(&format!("{}\n", booking.place));
    }
    let own_words = booking.reason.as_deref().filter(|_| booking.ended_by.as_deref() == Some("host"));
    if let (Kind::Cancellation, Some(reason)) = (kind, own_words) {
        text.push_str(&format!("\n{reason}\n"));
    }
    if kind != Kind::Cancellation {
        text.push_str(&format!("\nMove or cancel it here:\n{link}\n"));
    }
    (subject, text)
}

fn to_host(app: &App, kind: Kind, booking: &BookingRow, from: &From, email: &str) -> (String, String) {
    let zone = Zone::named(&booking.host_zone);
    let short = zone.shows(booking.starts_at).format("%a %-d %b, %H:%M").to_string();
    let name = booking.name.as_deref().unwrap_or_default();
    let what = match kind {
        Kind::Cancellation if booking.state == BookingState::Moved => "Given to a colleague",
        Kind::Cancellation => "Cancelled",
        Kind::Invitation | Kind::Reminder if booking.sequence > 0 => "Moved",
        Kind::Invitation | Kind::Reminder => "Booked",
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
