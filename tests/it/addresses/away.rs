//! While the directory's database is away, mail leaves as the directory last allowed, and what nobody knows of waits without
//! using up its tries. What is refused before any relay leaves its line in the log.

use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::random::Random;
use rookery_base::store::db;
use rookery_base::store::directory::Directory;
use rookery_mail::outgoing::send;

use super::{makes, smtp};
use rookery_world::mail::client::Client;
use rookery_world::{Mode, World, story};

/// A node whose directory has a pool of its own, which can be closed.
fn node(world: &World) -> (App, sqlx::PgPool) {
    let config = world.app.config.clone();
    let pool = db::pool(&config.database_url.0, 2).unwrap();
    let mut node = App::new(config, world.app.clock.clone(), Random::seeded(8)).unwrap();
    node.directory = Directory::new(pool.clone());
    node.mailer = world.outbox.clone();
    (node, pool)
}

#[tokio::test]
async fn mail_leaves_while_the_directory_is_away_and_what_nobody_knows_of_waits() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let other = acme.mailbox("sales@acme.example", "Sales").await;
        let key = acme.key("bot", "read,send", Mode::Live).await;
        let (node, directory) = node(world);
        let may = node.directory.may_send(acme.id, "help@acme.example", world.now()).await;
        assert!(may.unwrap());
        directory.close().await;

        for (inbox, text) in [(inbox, "Known"), (other, "Not known")] {
            let conversation = acme.mail(inbox, "anna@customer.example", text, "Hello").await;
            key.sends(conversation, text).await;
        }
        // Ten tries are more than there are, and so is the time.
        for _ in 0..10 {
            world.wait(TimeDelta::minutes(11));
            send::send_due(&node, 1).await.unwrap();
        }
        let letters = world.outbox.letters();
        assert_eq!(letters.len(), 1, "{letters:?}");
        assert!(letters[0].text.contains("Known"), "{letters:?}");
        let waits: Vec<i16> = world.column("select tries from messages where status = 'sending'").await;
        assert_eq!(waits, [0]);
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn who_lost_a_domain_sends_nothing_from_that_moment() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        acme.mailbox("help@acme.example", "Help").await;
        let may =
            async || world.app.directory.may_send(acme.id, "help@acme.example", world.now()).await.unwrap();
        assert!(may().await);
        rookery_core::workspace::domains::assign(&world.app, other.id, "acme.example").await.unwrap();
        assert!(!may().await);
    })
    .await;
}

/// The log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn lines(&self, of: &str) -> Vec<serde_json::Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter(|line: &serde_json::Value| line["message"] == of).collect()
    }
}

#[tokio::test]
async fn mail_that_is_refused_before_anybody_has_it_leaves_one_line() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(tracing::Level::INFO)
        .with_writer(move || writer.clone())
        .finish();
    let _here = tracing::subscriber::set_default(subscriber);
    story(async |world| {
        let (acme, mallory) = (world.workspace("Acme").await, world.workspace("Mallory").await);
        acme.mailbox("help@acme.example", "Help").await;
        let browser = world.browser(mallory.id, mallory.owner).await;
        let inbox = makes(&browser, "hello@mallory.example").await.unwrap();
        world.sql("update mailboxes set unproven_at = null").await;
        let key = mallory.key("bot", "read,send", Mode::Live).await;
        let conversation = mallory.mail(inbox, "anna@customer.example", "Hi", "Hello").await;
        let message = key.sends(conversation, "As Mallory").await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let out = log.lines("mail out");
        let [line] = &out[..] else { panic!("{out:?}") };
        assert_eq!(line["verdict"], "unproven-domain");
        assert_eq!(
            (line["message_id"].as_str(), line["to"].as_str()),
            (Some(&*message), Some("customer.example"))
        );
        assert_eq!(line["workspace"], mallory.id.to_string());

        let smtp = smtp(world).await;
        let mut client = Client::greeted(smtp).await;
        client.say("MAIL FROM:<anna@customer.example>").await;
        for n in 0..100 {
            assert_eq!(client.say(&format!("RCPT TO:<help+{n}@acme.example>")).await.code, 250);
        }
        assert_eq!(client.say("RCPT TO:<help@acme.example>").await.code, 452);
        assert_eq!(client.say("DATA").await.code, 354);
        drop(client);
        // Nobody can find out whose it is.
        world.sql("alter table directory.domains rename to domains_away").await;
        let mut client = Client::greeted(smtp).await;
        client.say("MAIL FROM:<anna@customer.example>").await;
        assert_eq!(client.say("RCPT TO:<sales@acme.example>").await.code, 451);
        world.sql("alter table directory.domains_away rename to domains").await;
        for _ in 0..100 {
            if log.lines("mail in").len() >= 3 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let mut answers: Vec<String> = log
            .lines("mail in")
            .iter()
            .map(|line| line["answer"].as_str().unwrap()[..9].to_owned())
            .collect();
        answers.sort();
        assert_eq!(answers, ["421 4.4.2", "451 4.3.0", "452 4.5.3"]);
        for line in log.lines("mail in") {
            assert_eq!((&line["from"], &line["client"]), (&"customer.example".into(), &"127.0.0.1".into()));
        }
    })
    .await;
}
