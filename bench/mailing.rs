//! Mail that comes into a loaded workspace and is indexed, on a thread of its own, until it is told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{MailboxId, WorkspaceId};
use rookery_base::random::Random;
use rookery_core::conversations::search::index;
use rookery_core::workspace::mailboxes;
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::Delivery;
use rookery_mail::incoming::receive::receive;

use rookery_world::load::Loaded;
use rookery_world::load::texts::{Dice, Vocabulary};

/// Mails that come between two looks of the indexer, and the pause after them: some forty a second.
const TOGETHER: usize = 8;
const PAUSE: Duration = Duration::from_millis(200);

pub struct Mailing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
    started: Instant,
}

impl Mailing {
    pub fn start(url: &str, into: &Loaded) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (told, url, into) = (stop.clone(), url.to_owned(), into.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(mail(&url, &into, &told))
        });
        Self { stop, thread, started: Instant::now() }
    }

    /// How many mails came, in how many seconds.
    pub fn stop(self) -> (usize, u64) {
        self.stop.store(true, Ordering::Relaxed);
        (self.thread.join().expect("the mail was taken"), self.started.elapsed().as_secs())
    }
}

async fn mail(url: &str, into: &Loaded, told: &AtomicBool) -> usize {
    let given = [("ROOKERY_DATABASE_URL", url), ("ROOKERY_BLOBS", "file:///tmp")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Config::load(None, given.into_iter()).expect("the settings are sound");
    let clock = Clock::system();
    let seed = clock.now().timestamp_millis() as u64;
    let app = App::new(config, clock, Random::seeded(seed)).expect("an app");
    let (workspace, mailbox) = (WorkspaceId(into.workspace), into.mailbox.parse::<MailboxId>());
    let mut conn = app.connection().await.expect("a connection");
    let mailbox = mailboxes::live(&mut conn, workspace, mailbox.expect("an id")).await.expect("an inbox");
    drop(conn);
    let (vocabulary, mut dice, mut mails) = (Vocabulary::new(), Dice::new(seed), 0);
    while !told.load(Ordering::Relaxed) {
        for _ in 0..TOGETHER {
            let (name, text) = (vocabulary.name(&mut dice), vocabulary.text(&mut dice, 60));
            let raw = format!(
                "Message-ID: <{}@mailing.example>\r\nFrom: {name} <someone@mailing.example>\r\nSubject: {}\r\n\r\n{text}\r\n",
                app.random.hex(16),
                vocabulary.text(&mut dice, 5)
            );
            let delivery = Delivery::from_raw(mailbox.clone(), raw.into_bytes(), Dmarc::Pass);
            receive(&app, workspace, delivery).await.expect("the mail is stored");
            mails += 1;
        }
        let mut tx = app.begin(workspace).await.expect("a transaction");
        index::index(&mut tx, index::OF_THE_WORKER).await.expect("the words are indexed");
        tx.commit().await.expect("a commit");
        tokio::time::sleep(PAUSE).await;
    }
    mails
}
