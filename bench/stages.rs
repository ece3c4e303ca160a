//! What the stages of inbound mail cost: processor time of ours and SQL statements for each mail, by the spans that the
//! pipeline has around them. 8 KB messages from `smtp-source` come to a real listener in this process, one at a time and
//! twenty at once. All of it runs on one thread, so that the clock of that thread tells what a stage took.
//!
//!     cargo bench --bench stages -- [--count N]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use clap::Parser;
use rookery_base::app::App;
use rookery_base::cells::Cells;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_core::workspace::access::By;
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::{create, mailboxes};
use rookery_mail::incoming::listen::{Door, Protocol};
use rustix::time::{ClockId, clock_gettime};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use rookery_world::cluster::{Cluster, Settings};
use rookery_world::mail::dns::Zone;

const BYTES: &str = "8192";
const SESSIONS: [usize; 2] = [1, 20];

#[derive(Parser)]
struct Arguments {
    /// Mails in each of the six rounds.
    #[arg(long, default_value_t = 2_000)]
    count: usize,
    /// `cargo bench` says this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let count = Arguments::parse().count;
    let cluster = Cluster::start(&Settings::bench());
    let folder = std::env::temp_dir().join(format!("rookery-stages-{}", std::process::id()));
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let zone = runtime.block_on(Zone::serve(&[
        ("customer.test", "v=spf1 ip4:127.0.0.1 -all"),
        ("_dmarc.customer.test", "v=DMARC1; p=reject"),
    ]));
    let blobs = format!("file://{}", folder.display());
    let smtp = runtime.block_on(open(&cluster.socket_url("postgres"), &blobs, &zone));
    println!("{count} mails of 8 KB; µs of our processor time and SQL statements for each mail");
    for sessions in SESSIONS {
        runtime.block_on(smtp_source(smtp, sessions, count));
        // Apart: to tell of statements takes time of its own.
        let timed = measure(&runtime, LevelFilter::OFF, smtp_source(smtp, sessions, count));
        let counted = measure(&runtime, LevelFilter::DEBUG, smtp_source(smtp, sessions, count));
        println!("\n| stage, {sessions} at once | µs | statements |\n|---|--:|--:|");
        for stage in timed {
            let same = counted.iter().find(|other| other.name == stage.name);
            let statements = same.map_or(0, |same| same.statements) as f64 / count as f64;
            let spent = stage.spent.as_secs_f64() * 1e6 / count as f64;
            let within = if stage.depth > 0 { "of these: " } else { "" };
            println!("| {within}{} | {spent:.1} | {statements:.2} |", stage.name);
        }
    }
    drop(runtime);
    let _ = std::fs::remove_dir_all(folder);
}

/// A workspace with an inbox, and the listener that mail for it comes to.
async fn open(database: &str, blobs: &str, zone: &Zone) -> SocketAddr {
    let dns = zone.address.to_string();
    let settings = [
        ("DATABASE_URL", database),
        ("DATABASE_CONNECTIONS", "25"),
        ("BLOBS", blobs),
        ("DNS", &dns),
        ("SECRET_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        // All of it is from one sender.
        ("MAIL_SENDER_DAILY_MAILS", "1000000"),
        ("MAIL_SENDER_DAILY_MEGABYTES", "1000000"),
        ("MAIL_NETWORK_DAILY_MAILS", "1000000"),
        ("MAIL_NETWORK_DAILY_MEGABYTES", "1000000"),
    ];
    let settings = settings.map(|(name, value)| (format!("ROOKERY_{name}"), value.to_owned()));
    let config = Config::load(None, settings.into_iter()).expect("the settings are sound");
    let app = Arc::new(App::new(config, Clock::system(), Random::seeded(1)).expect("an app"));
    MIGRATIONS.run(&app.pool).await.expect("the migrations apply");
    let made = create::create(&app, "Acme", Plan::Pro, "olga@acme.test", "Olga Owner").await;
    let workspace = made.expect("a workspace").workspace;
    let inbox = mailboxes::create(&app, workspace, &By::System, "help@acme.test", "Help", None).await;
    inbox.expect("an inbox");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let door = Door::open(Arc::new(Cells::new(vec![app])), Protocol::Smtp).expect("the door opens");
    tokio::spawn(door.serve(listener));
    address
}

async fn smtp_source(smtp: SocketAddr, sessions: usize, count: usize) {
    let done = tokio::process::Command::new("smtp-source")
        .args(["-s", &sessions.to_string(), "-m", &count.to_string(), "-l", BYTES])
        .args(["-f", "anna@customer.test", "-M", "customer.test", "-t", "help@acme.test"])
        .arg(format!("inet:127.0.0.1:{}", smtp.port()))
        .output()
        .await
        .expect("smtp-source is there (apt install postfix)");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn measure(runtime: &Runtime, statements: LevelFilter, mails: impl Future<Output = ()>) -> Vec<Stage> {
    let stages = Stages::default();
    let heard = Targets::new().with_target("rookery_mail", LevelFilter::TRACE);
    let heard = heard.with_target("sqlx::query", statements);
    let subscriber = tracing_subscriber::registry().with(stages.clone().with_filter(heard));
    tracing::subscriber::with_default(subscriber, || runtime.block_on(mails));
    std::mem::take(&mut *stages.all())
}

/// What was measured, in the order in which mail goes through.
#[derive(Clone, Default)]
struct Stages(Arc<Mutex<Vec<Stage>>>);

struct Stage {
    name: String,
    /// Stages around it.
    depth: usize,
    spent: Duration,
    statements: usize,
}

/// Kept with each span: its stage, and the thread's clock when it was entered.
struct Measured {
    stage: usize,
    entered: Duration,
}

impl Stages {
    fn all(&self) -> MutexGuard<'_, Vec<Stage>> {
        self.0.lock().expect("nobody panicked")
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Stages {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| span.name() == "stage") else { return };
        let mut name = Name(String::new());
        attributes.record(&mut name);
        let mut all = self.all();
        let stage = all.iter().position(|stage| stage.name == name.0).unwrap_or_else(|| {
            let depth = span.scope().skip(1).filter(|outer| outer.name() == "stage").count();
            all.push(Stage { name: name.0, depth, spent: Duration::ZERO, statements: 0 });
            all.len() - 1
        });
        span.extensions_mut().insert(Measured { stage, entered: Duration::ZERO });
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(measured) = span.extensions_mut().get_mut::<Measured>() {
            measured.entered = thread_time();
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let now = thread_time();
        let Some(span) = context.span(id) else { return };
        if let Some(measured) = span.extensions().get::<Measured>() {
            self.all()[measured.stage].spent += now - measured.entered;
        }
    }

    /// sqlx tells of a statement when it has run.
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() != "sqlx::query" {
            return;
        }
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(measured) = span.extensions().get::<Measured>() {
                self.all()[measured.stage].statements += 1;
            }
        }
    }
}

struct Name(String);

impl Visit for Name {
    fn record_str(&mut self, _: &Field, value: &str) {
        value.clone_into(&mut self.0);
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

/// Processor time that this thread has had.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
