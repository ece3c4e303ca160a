//! Errors of our own while a row is worked off: an unreadable key, a panic, a database that refuses one row. Each
//! counts as a try of that row alone, comes later and later, and ends; nothing else waits for it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::BoxFuture;
use rookery::worker;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MessageId, PersonId};
use rookery_base::random::Random;
use rookery_base::relay::mailer::{FinalMail, Handover, Mailer, OutgoingLetter};
use rookery_core::workspace::access::By;
use rookery_core::workspace::notices::{self, Notice};
use rookery_core::workspace::people::Role;
use rookery_mail::outgoing::domain;
use rookery_mail::outgoing::send;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::sink::{Does, Sink, Step};
use rookery_world::{Key, Mode, Workspace, World, story, story_with};

const WINDOW: TimeDelta = TimeDelta::minutes(10);
/// Between the tries of a day.
const PAUSES: [i64; 7] = [1, 5, 15, 60, 180, 360, 720];

/// A carrier that fails as the recipient's name says, and keeps the rest.
struct Faulty {
    clock: Clock,
    accepted: Mutex<Vec<String>>,
}

impl Mailer for Faulty {
    fn hand_over<'a>(
        &'a self,
        letter: &'a OutgoingLetter,
        _: &'a FinalMail,
    ) -> BoxFuture<'a, Result<Handover>> {
        Box::pin(async move {
            match letter.to.split('@').next() {
                Some("panics") => panic!("on purpose"),
                Some("errs") => return Err(Error::internal("on purpose")),
                Some("dawdles") => self.clock.advance(TimeDelta::seconds(130)),
                _ => {}
            }
            self.accepted.lock().unwrap().push(letter.to.clone());
            Ok(Handover::Accepted)
        })
    }
}

/// A node with such a carrier.
fn faulty(world: &World) -> (App, Arc<Faulty>) {
    let mut node = App::new(world.app.config.clone(), world.app.clock.clone(), Random::seeded(8)).unwrap();
    let mailer = Arc::new(Faulty { clock: world.app.clock.clone(), accepted: Mutex::default() });
    node.mailer = mailer.clone();
    (node, mailer)
}

async fn after(world: &World, time: TimeDelta) {
    world.wait(time);
    world.work().await;
}

/// How often a message was taken up.
async fn claims(world: &World, message: &str) -> i32 {
    let message: MessageId = message.parse().unwrap();
    sqlx::query_scalar("select claim from messages where id = $1")
        .bind(message.0)
        .fetch_one(&world.app.pool)
        .await
        .unwrap()
}

async fn count(world: &World, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(&world.app.pool).await.unwrap()
}

async fn status(key: &Key<'_>, id: &str, message: &str) -> Value {
    key.message(id, message).await["status"].clone()
}

/// A live conversation of an inbox with a customer, and a reply to them.
async fn sends(acme: &Workspace<'_>, key: &Key<'_>, inbox: &str, customer: &str) -> (String, String) {
    let inbox = acme.mailbox(inbox, "Help").await;
    let id = acme.mail(inbox, customer, "Parcel", "Where is it?").await.to_string();
    let message = key.sends(&id, "Here.").await;
    (id, message)
}

/// proves: MSG-8
#[tokio::test]
async fn a_message_whose_key_cannot_be_read_is_tried_for_a_day_and_then_its_people_are_told() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        domain::add(&world.app, acme.id, &By::System, "acme.example").await.unwrap();
        world.sql("update sending_domains set private_key = '\\x00'").await;
        let key = acme.key("bot", "send", Mode::Live).await;
        let (id, message) = sends(&acme, &key, "help@acme.example", "ada@customer.example").await;
        let (other, fine) = sends(&acme, &key, "help@other.example", "ada@customer.example").await;
        after(world, WINDOW).await;
        assert_eq!(status(&key, &other, &fine).await, "sent", "another message does not wait for it");
        for (tries, minutes) in PAUSES.into_iter().enumerate() {
            assert_eq!(status(&key, &id, &message).await, "sending");
            after(world, TimeDelta::minutes(minutes) - TimeDelta::milliseconds(1)).await;
            assert_eq!(claims(world, &message).await, tries as i32 + 1, "not before {minutes} minutes");
            after(world, TimeDelta::milliseconds(1)).await;
            assert_eq!(claims(world, &message).await, tries as i32 + 2, "after {minutes} minutes");
        }
        assert_eq!(status(&key, &id, &message).await, "failed");
        let told = json!({ "messageId": message, "email": "ada@customer.example", "reason": "gave-up" });
        assert_eq!(key.told(&id, "delivery-failed").await, [told]);
        assert_eq!(key.conversation(&id).await["status"], "open");
        assert_eq!(world.outbox.letters().len(), 1);
        after(world, TimeDelta::days(2)).await;
        assert_eq!(claims(world, &message).await, 8);
    })
    .await;
}

#[tokio::test]
async fn a_panic_while_one_message_is_sent_is_a_try_of_that_message_only() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "send", Mode::Live).await;
        let mut sent = Vec::new();
        for (number, customer) in ["panics", "errs", "ada", "bob"].into_iter().enumerate() {
            let inbox = format!("help{number}@acme.example");
            sent.push(sends(&acme, &key, &inbox, &format!("{customer}@customer.example")).await);
        }
        world.wait(WINDOW);
        let (node, mailer) = faulty(world);
        send::send_due(&node, 1).await.unwrap();
        let mut accepted = mailer.accepted.lock().unwrap().clone();
        accepted.sort();
        assert_eq!(accepted, ["ada@customer.example", "bob@customer.example"]);
        for (id, message) in &sent[..2] {
            assert_eq!(status(&key, id, message).await, "sending");
        }
        let tries = "select count(*) from messages where status = 'sending' and tries = 1";
        assert_eq!(count(world, tries).await, 2, "both are counted");
        // Another node has a carrier that works.
        after(world, TimeDelta::minutes(1)).await;
        for (id, message) in &sent {
            assert_eq!(status(&key, id, message).await, "sent");
        }
    })
    .await;
}

/// A notice to a person of this name, whose address begins with it.
async fn notice(acme: &Workspace<'_>, to: PersonId) {
    let mut conn = acme.world.app.connection().await.unwrap();
    let notice = Notice { to, kind: "webhook-off", subject: "A webhook was turned off", body: "It was." };
    let app = &acme.world.app;
    notices::write(&mut conn, acme.id, app.clock.now(), &app.random, notice).await.unwrap();
}

#[tokio::test]
async fn a_notice_that_errs_keeps_no_other_waiting_and_is_old_news_after_thirty_days() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for name in ["Errs", "Panics", "Otto"] {
            let person = acme.person(name, Role::Member).await;
            notice(&acme, person).await;
            world.wait(TimeDelta::milliseconds(1));
        }
        let (node, mailer) = faulty(world);
        let waiting = "select count(*) from notices where sent_at is null";
        let (mut days, mut looks) = (0, 0);
        while days < 31 {
            let _ = worker::run_once(&node).await;
            assert_eq!(*mailer.accepted.lock().unwrap(), ["otto@rookery.example"]);
            looks += 1;
            world.wait(TimeDelta::hours(12));
            days = looks / 2;
        }
        assert_eq!(count(world, waiting).await, 0, "nobody tries for ever");
    })
    .await;
}

#[tokio::test]
async fn what_does_not_fit_into_the_rest_of_its_lease_is_not_begun_and_given_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let person = acme.person("Dawdles", Role::Member).await;
        for _ in 0..3 {
            notice(&acme, person).await;
        }
        let (node, mailer) = faulty(world);
        worker::run_once(&node).await.unwrap();
        assert_eq!(mailer.accepted.lock().unwrap().len(), 3, "each once");
        let claims: Vec<i32> = sqlx::query_scalar("select claim from notices order by 1")
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(claims, [1, 2, 3], "130 of 180 seconds have passed after each: the others are taken anew");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_is_tried_for_a_day_and_others_arrive() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let mut written = Vec::new();
        for workspace in [&acme, &other] {
            let key = workspace.key("bot", "write,send", Mode::Test).await;
            let id = key.simulate(json!({ "from": "reply@shop.test", "text": "Hello" })).await;
            key.sends(&id, "Thank you.").await;
            written.push((key, id));
        }
        world
            .sql(&format!(
                "create function refuse() returns trigger language plpgsql as $$ begin
                     raise 'on purpose'; end $$;
                 create trigger refuse before insert on messages for each row
                     when (new.workspace_id = {} and new.direction = 'inbound') execute function refuse()",
                acme.id.0
            ))
            .await;
        after(world, TimeDelta::seconds(5)).await;
        after(world, TimeDelta::seconds(5)).await;
        let replied = async |at: usize| {
            let (key, id) = &written[at];
            key.conversation(id).await["timeline"].as_array().unwrap().len()
        };
        assert!(replied(1).await > replied(0).await, "the other workspace has its answer");
        let waiting = "select count(*) from sandbox_answers";
        assert_eq!(count(world, waiting).await, 1);
        for minutes in PAUSES {
            assert_eq!(count(world, waiting).await, 1, "before {minutes} minutes");
            after(world, TimeDelta::minutes(minutes)).await;
        }
        assert_eq!(count(world, waiting).await, 0, "nobody tries for ever");
        world.sql("drop trigger refuse on messages").await;
    })
    .await;
}

#[tokio::test]
async fn what_was_handed_over_is_written_down_when_the_database_lets_us_and_not_handed_over_again() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("test", "write,send", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@shop.test", "text": "Hello" })).await;
        key.sends(&id, "Here.").await;
        // As when somebody holds the row for too long, twice. A sequence counts also what is rolled back.
        world
            .sql(
                "create sequence refused; grant usage on refused to public;
                 create function refuse() returns trigger language plpgsql as $$ begin
                     if nextval('refused') <= 2 then raise exception 'held' using errcode = '57014'; end if;
                     return new;
                 end $$;
                 create trigger refuse before update on messages for each row
                     when (new.status = 'sent') execute function refuse()",
            )
            .await;
        world.wait(TimeDelta::minutes(1));
        world.work().await;
        let count = async |what: &'static str| -> i64 {
            sqlx::query_scalar(what).fetch_one(&world.app.pool).await.unwrap()
        };
        assert_eq!(count("select count(*) from messages where status = 'sent'").await, 1);
        assert_eq!(count("select count(*) from sandbox_mail").await, 1, "the customer has it once");
        world.sql("drop function refuse cascade; drop sequence refused").await;
    })
    .await;
}

/// The relay takes the mail and does not say so, while the sandbox's customer waits for ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sandbox_does_not_wait_for_live_mail_that_a_relay_is_slow_to_take() {
    let sink = Sink::start().await;
    let relay = sink.relay();
    let settings = [&[("RELAY", relay.as_str())], UNHURRIED].concat();
    story_with(&settings, async |world| {
        let acme = world.workspace("Acme").await;
        let (live, test) =
            (acme.key("live", "send", Mode::Live).await, acme.key("test", "write,send", Mode::Test).await);
        let (id, message) = sends(&acme, &live, "help@acme.example", "ada@customer.example").await;
        for _ in 0..30 {
            live.sends(&id, "And this.").await;
        }
        sink.does(Step::Dot, Does::Hangs);
        world.wait(WINDOW);
        let work = tokio::spawn(worker::run(world.app.clone()));
        assert!(sink.hangs(Duration::from_secs(30)).await, "live mail is being handed over");
        let written = test.simulate(json!({ "from": "reply@shop.test", "text": "Hello" })).await;
        let ours = test.sends(&written, "Thank you.").await;
        world.wait(TimeDelta::seconds(5));
        // Straight from the database: the worker is at work, and two reads one after the other would differ.
        let number = ours.parse::<MessageId>().unwrap().0;
        let soon = async |what: &str, done: &'static str| {
            let started = Instant::now();
            while !sqlx::query_scalar::<_, bool>(done).bind(number).fetch_one(&world.app.pool).await.unwrap()
            {
                assert!(started.elapsed() < Duration::from_secs(15), "{what} waits");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        soon("what we send", "select status = 'sent' from messages where id = $1").await;
        world.wait(TimeDelta::seconds(5));
        let answered = "select count(*) = 3 from messages
                        where conversation_id = (select conversation_id from messages where id = $1)";
        soon("the answer", answered).await;
        assert_eq!(status(&live, &id, &message).await, "sending", "the relay still has it in its hands");
        work.abort();
        let _ = work.await;
    })
    .await;
}
