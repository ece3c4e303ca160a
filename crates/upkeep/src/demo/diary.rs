//! What can be booked at the agency, and who has booked: viewings, keys, repairs and calls, of last week, of this one and
//! of the next. A booking takes the first time that is free, as a visitor who is not choosy would.

use chrono::{DateTime, TimeDelta, Utc};

use crate::demo::cast::Cast;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingId, ConversationId, PersonId, WorkspaceId};
use rookery_product::bookings::book::{self, Visitor, WantedBooking};
use rookery_product::bookings::questions::{BookingAnswer, Question};
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types::settings::Settings;
use rookery_product::bookings::{cancel, schedule, types};

/// More times than there are within two weeks.
const AHEAD: usize = 2_000;

struct Offering {
    name: &'static str,
    slug: &'static str,
    inbox: &'static str,
    minutes: i16,
    hosts: &'static [&'static str],
    place: &'static str,
    about: &'static str,
    asks: &'static [&'static str],
}

const TYPES: [Offering; 4] = [
    Offering {
        name: "Viewing",
        slug: "viewing",
        inbox: "lettings",
        minutes: 30,
        hosts: &["Ada", "Jean-Baptiste"],
        place: "At the property, by the front door",
        about: "See a flat with one of us. Bring everyone who will live there, and a tape measure if you like.",
        asks: &["Which property?", "How many of you are coming?"],
    },
    Offering {
        name: "Key handover",
        slug: "key-handover",
        inbox: "lettings",
        minutes: 45,
        hosts: &["Jean-Baptiste"],
        place: "At the flat",
        about: "We walk through the inventory together and read the meters. Please bring an identity card.",
        asks: &[],
    },
    Offering {
        name: "Repair visit",
        slug: "repair-visit",
        inbox: "repairs",
        minutes: 60,
        hosts: &["Wanjirũ"],
        place: "At your flat",
        about: "For everything that is not an emergency. If water is running, call us instead.",
        asks: &["What is broken, and in which room?"],
    },
    Offering {
        name: "Call about your deposit",
        slug: "deposit-call",
        inbox: "accounts",
        minutes: 15,
        hosts: &["Mia"],
        place: "We call you",
        about: "Fifteen minutes about your statement, line by line.",
        asks: &["Which number shall we call?"],
    },
];

/// A booking that did not begin in a conversation.
struct PublicBooking {
    slug: &'static str,
    name: &'static str,
    email: &'static str,
    note: &'static str,
    answers: &'static [&'static str],
    /// Hours before now in which it was booked.
    made: i64,
    /// Hours from now after which it begins.
    begins: i64,
    cancelled: bool,
}

const fn booking(
    slug: &'static str,
    name: &'static str,
    email: &'static str,
    made: i64,
    begins: i64,
) -> PublicBooking {
    PublicBooking { slug, name, email, note: "", answers: &[], made, begins, cancelled: false }
}

const BOOKINGS: [PublicBooking; 10] = [
    PublicBooking {
        answers: &["14 Alder Row", "Two, and a buggy"],
        ..booking("viewing", "Harriet Bell", "harriet.bell@post.test", 220, -140)
    },
    booking("key-handover", "Jonah Feldman", "jonah.feldman@mailbox.test", 190, -110),
    PublicBooking {
        answers: &["+44 1632 960 144"],
        ..booking("deposit-call", "Winnie Tsang", "winnie.tsang@fastpost.test", 150, -60)
    },
    PublicBooking {
        answers: &["Kitchen tap, drips"],
        ..booking("repair-visit", "Callum MacAllister", "callum.macallister@homemail.test", 120, -30)
    },
    PublicBooking {
        answers: &["5 Canal Wharf", "Three"],
        note: "We may be five minutes late, the tram is what it is.",
        ..booking("viewing", "Shreya Banerjee", "shreya.banerjee@post.test", 70, 8)
    },
    PublicBooking {
        answers: &["5 Canal Wharf", "Me"],
        ..booking("viewing", "Ngozi Eze", "ngozi.eze@mailbox.test", 50, 20)
    },
    booking("key-handover", "Aoife Ní Bhraonáin", "aoife.ni.bhraonain@post.test", 40, 44),
    PublicBooking {
        answers: &["+44 1632 960 871"],
        note: "Please not before ten, I have night shifts.",
        ..booking("deposit-call", "Desmond Clarke", "desmond.clarke@mailbox.test", 30, 70)
    },
    PublicBooking {
        answers: &["Bathroom fan, hums but does not turn"],
        ..booking("repair-visit", "Victor Osei", "victor.osei@fastpost.test", 26, 120)
    },
    PublicBooking {
        answers: &["Flat 31, Beacon Tower", "Two"],
        cancelled: true,
        ..booking("viewing", "Gareth Pryce-Jones", "gareth.prycejones@homemail.test", 60, 90)
    },
];

/// What somebody would like: the first time of this type after a moment.
pub struct Wish<'a> {
    pub slug: &'a str,
    pub after: DateTime<Utc>,
    pub conversation: Option<ConversationId>,
}

pub async fn open(app: &App, workspace: WorkspaceId, cast: &Cast) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let setter = Setter::Person(cast.person("Ada")?);
    for offered in &TYPES {
        let mut hosts: Vec<PersonId> = Vec::new();
        for host in offered.hosts {
            hosts.push(cast.person(host)?.id);
        }
        let ask = |label: &&str| Question { label: (*label).to_owned(), required: false };
        let first = hosts.first().copied().ok_or_else(|| Error::internal("a booking without a host"))?;
        let settings = Settings {
            about: offered.about.to_owned(),
            place: offered.place.to_owned(),
            mailbox: Some(cast.inbox(offered.inbox)?.id),
            after: 15,
            questions: offered.asks.iter().map(ask).collect(),
            hosts,
            ..Settings::new(offered.name, offered.slug, offered.minutes, first)
        };
        types::create(&mut tx, setter, settings).await?;
    }
    tx.commit().await
}

/// Everything that was booked over the public pages.
pub async fn fill(app: &App, workspace: WorkspaceId, now: DateTime<Utc>) -> Result<()> {
    for wanted in &BOOKINGS {
        app.clock.advance(now - TimeDelta::hours(wanted.made) - app.clock.now());
        let asks =
            TYPES.iter().find(|offered| offered.slug == wanted.slug).map_or(&[][..], |offered| offered.asks);
        let visitor = Visitor {
            name: wanted.name.to_owned(),
            email: wanted.email.to_owned(),
            note: wanted.note.to_owned(),
            answers: asks.iter().zip(wanted.answers).map(|(ask, given)| answered(ask, given)).collect(),
            time_zone: "UTC".to_owned(),
        };
        let after = now + TimeDelta::hours(wanted.begins);
        let time = Wish { slug: wanted.slug, after, conversation: None };
        let booked = take(app, workspace, visitor, time).await?;
        if wanted.cancelled {
            app.clock.advance(TimeDelta::hours(5));
            let mut tx = app.begin(workspace).await?;
            cancel::by_visitor(&mut tx, booked, "time").await?;
            tx.commit().await?;
        }
    }
    Ok(())
}

fn answered(question: &str, answer: &str) -> BookingAnswer {
    BookingAnswer { question: question.to_owned(), answer: answer.to_owned() }
}

/// The first time that suits.
pub async fn take(app: &App, workspace: WorkspaceId, visitor: Visitor, time: Wish<'_>) -> Result<BookingId> {
    let mut tx = app.begin(workspace).await?;
    let bookable = schedule::named(&mut tx, workspace, time.slug).await?;
    let bookable = bookable.ok_or_else(|| Error::internal(format!("nothing is called {}", time.slug)))?;
    let now = tx.now();
    let free = schedule::free(&mut tx, &bookable, now, AHEAD).await?;
    let first = free.iter().find(|free| free.starts_at >= time.after);
    let starts_at = first.ok_or_else(|| Error::internal("no time is free"))?.starts_at;
    let conversation = time.conversation;
    let wanted =
        WantedBooking { bookable: &bookable, starts_at, visitor, conversation, press: "demonstration" };
    match book::book(&mut tx, &wanted).await? {
        Ok(booked) => {
            tx.commit().await?;
            Ok(booked.id)
        }
        Err(refusal) => Err(Error::internal(format!("a time was not booked: {refusal:?}"))),
    }
}
