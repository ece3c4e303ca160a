//! Real programs around bookings, which `just caldav` starts: Radicale as a host's other calendar, by a question for free and busy
//! times and as a feed, and a visitor whose calendar program reads and answers our invitation.

use std::io::Write;
use std::process::{Command, Stdio};

use rookery_core::workspace::people;
use rookery_product::bookings::busy::{self, CalendarForm, CalendarKind};
use rookery_product::bookings::invitation::{Invitation, Method, People, uid};

use rookery_world::verbs::house::at;
use rookery_world::{story, story_with};

fn setting(name: &str) -> String {
    std::env::vars().find(|(own, _)| own == name).expect("`just caldav` sets it").1
}

/// What is put into the calendar: once, every week across a change of clocks with one moved and one left out, a day, and what
/// takes no time.
const EVENTS: &[(&str, &str)] = &[
    ("once", "DTSTART:20310107T130000Z\nDTEND:20310107T140000Z"),
    (
        "weekly",
        "DTSTART;TZID=Europe/Berlin:20310317T100000\nDTEND;TZID=Europe/Berlin:20310317T110000\n\
         RRULE:FREQ=WEEKLY;COUNT=5\nEXDATE;TZID=Europe/Berlin:20310324T100000",
    ),
    ("free", "DTSTART:20310108T130000Z\nDTEND:20310108T140000Z\nTRANSP:TRANSPARENT"),
    ("gone", "DTSTART:20310109T130000Z\nDTEND:20310109T140000Z\nSTATUS:CANCELLED"),
];
const BUSY: &[&str] = &[
    "01-07 13:00/01-07 14:00",
    "03-17 09:00/03-17 10:00",
    "03-31 08:00/03-31 09:00",
    "04-07 08:00/04-07 09:00",
    "04-14 08:00/04-14 09:00",
];
const BERLIN: &str = "BEGIN:VTIMEZONE\nTZID:Europe/Berlin\nBEGIN:STANDARD\nDTSTART:19701025T030000\n\
    RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nTZNAME:CET\nEND:STANDARD\n\
    BEGIN:DAYLIGHT\nDTSTART:19700329T020000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\nTZOFFSETFROM:+0100\n\
    TZOFFSETTO:+0200\nTZNAME:CEST\nEND:DAYLIGHT\nEND:VTIMEZONE";

#[tokio::test]
#[ignore = "needs Radicale: `just caldav`"]
async fn a_real_calendar_says_the_same_as_a_feed_and_when_asked() {
    let server = setting("TEST_CALDAV");
    story_with(&[("WEBHOOK_ALLOW", "127.0.0.0/8")], async |world| {
        let calendar = format!("{server}/olga/work/");
        let ask = |method: &str, url: &str, body: String| {
            world.http.request(method.parse().unwrap(), url).basic_auth("olga", Some("secret")).body(body)
        };
        assert_eq!(ask("MKCALENDAR", &calendar, String::new()).send().await.unwrap().status(), 201);
        for (name, lines) in EVENTS {
            let event = format!(
                "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//EN\n{BERLIN}\nBEGIN:VEVENT\nUID:{name}\nDTSTAMP:20310101T000000Z\n\
                 SUMMARY:{name}\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n"
            );
            let put = ask("PUT", &format!("{calendar}{name}.ics"), event.replace('\n', "\r\n"));
            let put = put.header("content-type", "text/calendar").send().await.unwrap();
            assert_eq!(put.status(), 201, "{name}");
        }
        let acme = world.workspace("Acme").await;
        for kind in [CalendarKind::Caldav, CalendarKind::Feed] {
            world.sql("delete from busy_sources").await;
            let owner =
                people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
            let typed = CalendarForm { kind, address: &calendar, name: "olga", password: "secret" };
            busy::connect(&world.app, &owner, typed).await.unwrap();
            world.work().await;
            let spans: Vec<String> = sqlx::query_scalar(
                "select to_char(starts_at at time zone 'UTC', 'MM-DD HH24:MI') || '/'
                     || to_char(ends_at at time zone 'UTC', 'MM-DD HH24:MI') from busy_times order by starts_at",
            )
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
            assert_eq!(spans, BUSY, "{kind:?}");
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs PyPI icalendar: `just caldav`"]
async fn a_visitors_calendar_program_accepts_and_declines_our_invitation() {
    let visitor = setting("TEST_VISITOR");
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        let ada = "ada@customer.example";
        let booking = acme.books(call, ada, "2031-01-07T09:00:00Z", None).await.id;
        let invitation = Invitation {
            method: Method::Request,
            uid: uid(booking, &world.app.config.mail_name()),
            sequence: 0,
            stamp: world.now(),
            starts_at: at("2031-01-07T09:00:00Z"),
            ends_at: at("2031-01-07T09:30:00Z"),
            summary: "Call; with, Olga",
            description: "",
            place: "",
            url: None,
            people: Some(People {
                organizer: ("Help", "help@acme.example"),
                attendee: ("Ada \"A\"", ada),
                answers: true,
            }),
        };
        for (said, state) in [("TENTATIVE", "tentative"), ("ACCEPTED", "accepted"), ("DECLINED", "cancelled")] {
            let mut words = visitor.split(' ');
            let mut program = Command::new(words.next().unwrap())
                .args(words)
                .arg(said)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            program.stdin.take().unwrap().write_all(invitation.text().as_bytes()).unwrap();
            let answer = program.wait_with_output().unwrap();
            assert!(answer.status.success(), "{said}");
            let answer = String::from_utf8(answer.stdout).unwrap().replace("\r\n", "\n");
            let raw = format!(
                "Message-ID: <{said}@customer.example>\nFrom: Ada <{ada}>\nTo: help@acme.example\nSubject: {said}\n\
                 MIME-Version: 1.0\nContent-Type: text/calendar; method=REPLY; charset=utf-8\n\n{answer}"
            );
            acme.receives_confirmed(help, &raw).await;
            let now: String = sqlx::query_scalar("select coalesce(nullif(state, 'booked'), rsvp, state) from bookings")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
            assert_eq!(now, state, "{said}: {answer}");
        }
    })
    .await;
}
