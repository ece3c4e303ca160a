//! Hosts' other calendars: a feed and a calendar server keep times from being offered. Addresses that are private, files that
//! are no calendars, rules that never end and servers that are down harm nobody.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::error::Result;
use rookery_base::ids::{BusySourceId, PersonId};
use rookery_base::random::Random;
use rookery_core::workspace::people::{self, Role};
use rookery_product::bookings::busy::read::read_due;
use rookery_product::bookings::busy::{self, CalendarForm, CalendarKind};
use tokio::net::TcpListener;

use rookery_world::verbs::house::at;
use rookery_world::{Workspace, World, story, story_with};

const INSIDE: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8")];
const ADDRESS: &str = "/zanzibar-secret/feed.ics";

type Asked = (Method, Uri, HeaderMap, String);

/// A server that says what it is told to, and keeps what it was asked.
#[derive(Clone)]
struct Server {
    url: String,
    says: Arc<Mutex<(u16, String)>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    async fn start(says: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let says = Arc::new(Mutex::new((200, says.to_owned())));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, kept) = (says.clone(), asked.clone());
        let router =
            Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
                let body = String::from_utf8_lossy(&body).into_owned();
                kept.lock().unwrap().push((method, uri, headers, body));
                let (status, text) = answer.lock().unwrap().clone();
                async move { (StatusCode::from_u16(status).unwrap(), text) }
            });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, says, asked }
    }

    fn says(&self, status: u16, text: &str) {
        *self.says.lock().unwrap() = (status, text.to_owned());
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn calendar(lines: &str) -> String {
    format!("BEGIN:VCALENDAR\nVERSION:2.0\n{lines}\nEND:VCALENDAR\n").replace('\n', "\r\n")
}

fn event(from: &str, to: &str, more: &str) -> String {
    calendar(&format!(
        "BEGIN:VEVENT\nUID:a\nSUMMARY:Zanzibar dentist\nDTSTART:{from}\nDTEND:{to}\n{more}END:VEVENT"
    ))
}

async fn connect(
    acme: &Workspace<'_>,
    person: PersonId,
    kind: CalendarKind,
    address: &str,
) -> Result<BusySourceId> {
    let app = &acme.world.app;
    let person = people::teammate(&mut app.connection().await.unwrap(), acme.id, person).await?;
    let (name, password) = if kind == CalendarKind::Caldav { ("olga", "pass:word") } else { ("", "") };
    busy::connect(app, &person, CalendarForm { kind, address, name, password }).await
}

async fn spans(world: &World) -> Vec<String> {
    sqlx::query_scalar(
        "select to_char(starts_at at time zone 'UTC', 'MM-DD HH24:MI') || '/'
             || to_char(ends_at at time zone 'UTC', 'MM-DD HH24:MI') from busy_times order by starts_at",
    )
    .fetch_all(&world.app.pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn what_is_in_a_feed_is_not_offered_and_only_its_times_are_kept() {
    story_with(INSIDE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        let feed = Server::start(&event("20310106T130000Z", "20310106T133000Z", "")).await;
        let id =
            connect(&acme, acme.owner, CalendarKind::Feed, &format!("{}{ADDRESS}", feed.url)).await.unwrap();
        assert_eq!(acme.free_times(call).await[0], at("2031-01-06T13:00:00Z"));
        world.work().await;
        assert_eq!(spans(world).await, ["01-06 13:00/01-06 13:30"]);
        assert_eq!(acme.free_times(call).await[0], at("2031-01-06T13:30:00Z"));

        // It is read again after five minutes, and not before.
        feed.says(200, &event("20310106T140000Z", "20310106T143000Z", ""));
        world.wait(TimeDelta::minutes(4));
        world.work().await;
        assert_eq!(feed.asked(), 1);
        world.wait(TimeDelta::minutes(1));
        world.work().await;
        assert_eq!((feed.asked(), spans(world).await), (2, vec!["01-06 14:00/01-06 14:30".to_owned()]));

        // Neither the address nor a word of an event is anywhere.
        let rows = format!("{:?}", world.rows().await);
        assert!(!rows.to_lowercase().contains("zanzibar"), "{rows}");
        let owner =
            people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        busy::disconnect(&mut tx, &owner, id).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(spans(world).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_calendar_server_is_asked_for_free_and_busy_times() {
    story_with(INSIDE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        acme.bookable("Call").await;
        let answer = calendar(
            "BEGIN:VFREEBUSY\nFREEBUSY;FBTYPE=BUSY:20310106T130000Z/20310106T133000Z\nEND:VFREEBUSY",
        );
        let server = Server::start(&answer).await;
        connect(&acme, acme.owner, CalendarKind::Caldav, &format!("{}/olga/work/", server.url))
            .await
            .unwrap();
        world.work().await;
        assert_eq!(spans(world).await, ["01-06 13:00/01-06 13:30"]);
        let (method, uri, headers, body) = server.asked.lock().unwrap()[0].clone();
        assert_eq!(
            (method.as_str(), uri.path(), headers["depth"].to_str().unwrap()),
            ("REPORT", "/olga/work/", "1")
        );
        assert_eq!(headers["authorization"], "Basic b2xnYTpwYXNzOndvcmQ=");
        assert!(
            body.contains(r#"free-busy-query"#) && body.contains(r#"start="20310105T090000Z""#),
            "{body}"
        );
    })
    .await;
}

#[tokio::test]
async fn feeds_to_private_addresses_are_refused_when_entered_and_when_read() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for address in [
            "http://127.0.0.1/x",
            "https://127.0.0.1/x",
            "https://10.0.0.8/x",
            "https://[::1]/x",
            "https://169.254.169.254/latest/meta-data/",
            "https://localhost/x",
            "file:///etc/passwd",
            "webcal://192.168.1.1/x",
            "https://olga:secret@calendar.example/x",
            "ftp://calendar.example/x",
            "",
        ] {
            let refused = connect(&acme, acme.owner, CalendarKind::Feed, address).await.unwrap_err();
            assert_eq!(refused.status(), 400, "{address}: {refused}");
        }
        assert_eq!(world.scalar("select count(*) from busy_sources").await, 0);
    })
    .await;
    // Entered while the operator allowed it, and not any more: judged anew at each reading.
    story_with(INSIDE, async |world| {
        let acme = world.workspace("Acme").await;
        let feed = Server::start(&event("20310106T130000Z", "20310106T133000Z", "")).await;
        connect(&acme, acme.owner, CalendarKind::Feed, &format!("{}/x", feed.url)).await.unwrap();
        let config = Config { webhook_allow: Vec::new(), ..world.app.config.clone() };
        let strict = App::new(config, world.app.clock.clone(), Random::seeded(9)).unwrap();
        read_due(&strict, 1).await.unwrap();
        strict.pool.close().await;
        assert_eq!((feed.asked(), spans(world).await), (0, Vec::new()));
        assert_eq!(
            world.scalar("select count(*) from busy_sources where failing_since is not null").await,
            1
        );
    })
    .await;
}

#[tokio::test]
async fn hostile_calendars_end_soon_and_change_nothing() {
    story_with(INSIDE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        acme.bookable("Call").await;
        let good = event("20310106T130000Z", "20310106T133000Z", "");
        let feed = Server::start(&good).await;
        connect(&acme, acme.owner, CalendarKind::Feed, &format!("{}/x", feed.url)).await.unwrap();
        world.work().await;
        let kept = ["01-06 13:00/01-06 13:30"];
        assert_eq!(spans(world).await, kept);

        let never =
            event("20310106T100000Z", "20310106T100001Z", "RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30\n");
        let large = format!("{good}{}", "X-PAD:x\r\n".repeat(700_000));
        for (what, status, says) in [
            ("a page to sign in", 200, "<html>Sign in</html>"),
            ("nothing", 200, ""),
            ("an error", 500, good.as_str()),
            ("a redirect", 302, good.as_str()),
            ("more than 5 MB", 200, large.as_str()),
        ] {
            feed.says(status, says);
            world.wait(TimeDelta::minutes(5));
            let began = Instant::now();
            world.work().await;
            assert_eq!(spans(world).await, kept, "{what}: what was read last stays");
            assert_eq!(
                world.scalar("select count(*) from busy_sources where failing_since is not null").await,
                1,
                "{what}"
            );
            assert!(began.elapsed() < Duration::from_secs(30), "{what}: {:?}", began.elapsed());
        }
        feed.says(200, &never);
        world.wait(TimeDelta::minutes(5));
        let began = Instant::now();
        world.work().await;
        assert_eq!(spans(world).await, Vec::<String>::new(), "a rule that never gives a time takes none");
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        // A rule of every second is walked so far and no further: ten thousand of them.
        feed.says(200, &event("20310106T100000Z", "20310106T100001Z", "RRULE:FREQ=SECONDLY\n"));
        world.wait(TimeDelta::minutes(5));
        world.work().await;
        assert_eq!(spans(world).await, ["01-06 10:00/01-06 12:46"]);
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/settings/bookings/hours").await.page();
        assert!(page.contains("it has more events than are read"), "nobody takes it for the whole: {page}");
        feed.says(401, "");
        world.wait(TimeDelta::minutes(5));
        world.work().await;
        let page = owner.get("/settings/bookings/hours").await.page();
        assert!(page.contains("it answered 401"), "the host reads why: {page}");
    })
    .await;
}

#[tokio::test]
async fn a_host_whose_calendar_is_out_of_reach_for_an_hour_is_told_once() {
    story_with(INSIDE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        acme.bookable("Call").await;
        let feed = Server::start(&event("20310106T130000Z", "20310106T133000Z", "")).await;
        connect(&acme, acme.owner, CalendarKind::Feed, &format!("{}{ADDRESS}", feed.url)).await.unwrap();
        world.work().await;
        feed.says(503, "");
        let told = async || world.scalar("select count(*) from notices where kind = 'calendar'").await;
        for minutes in [5, 30, 29] {
            world.wait(TimeDelta::minutes(minutes));
            world.work().await;
            assert_eq!(told().await, 0, "not after {minutes} more");
        }
        for _ in 0..3 {
            world.wait(TimeDelta::minutes(10));
            world.work().await;
            assert_eq!(told().await, 1);
        }
        let body: String = sqlx::query_scalar("select body from notices where kind = 'calendar'")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert!(body.contains("127.0.0.1") && !body.contains("zanzibar"), "{body}");
        // It comes back, and the next time that it fails is another.
        feed.says(200, &event("20310106T130000Z", "20310106T133000Z", ""));
        world.wait(TimeDelta::minutes(5));
        world.work().await;
        feed.says(503, "");
        for _ in 0..2 {
            world.wait(TimeDelta::minutes(61));
            world.work().await;
        }
        assert_eq!(told().await, 2);
    })
    .await;
}

#[tokio::test]
async fn calendars_are_their_owners_alone() {
    story_with(INSIDE, async |world| {
        let acme = world.workspace("Acme").await;
        let max = acme.person("Max", Role::Member).await;
        let feed = Server::start("").await;
        for _ in 0..busy::MOST_SOURCES {
            connect(&acme, max, CalendarKind::Feed, &format!("{}/x", feed.url)).await.unwrap();
        }
        assert_eq!(
            connect(&acme, max, CalendarKind::Feed, &format!("{}/x", feed.url)).await.unwrap_err().status(),
            400
        );
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let owner = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
        let keys = world.app.config.secret_key.as_ref().unwrap();
        assert!(busy::list(&mut tx, keys, &owner).await.unwrap().is_empty());
        let his: i64 = world.scalar("select min(id) from busy_sources").await;
        assert_eq!(busy::disconnect(&mut tx, &owner, BusySourceId(his)).await.unwrap_err().status(), 404);
    })
    .await;
}
