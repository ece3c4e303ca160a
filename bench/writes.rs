//! The write bench: processor time of one transaction of each writing verb, against a bare insert of a single
//! row of the same width in the same run. Writes reach the disk. docs/performance.md explains the table.
//!
//!     cargo bench --bench writes -- [--count N] [--rounds N] [--clients N]

#[path = "cpu.rs"]
mod cpu;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;
use rookery_api::input::Given;
use rookery_api::registry::{OPERATIONS, Request};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::due::backoff::Aside;
use rookery_base::ids::{ConversationId, Id, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_core::conversations::search::{index, pending};
use rookery_core::workspace::access::{Actor, By, MemberId, Scope};
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::keys::{self, Agent};
use rookery_core::workspace::mailboxes::Mailbox;
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::{create, mailboxes};
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;
use rookery_mail::incoming::scam;
use rookery_reading::mail::parse::{ParsedMail, parse};
use rookery_reading::mail::quote;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool};

use self::cpu::{Cpu, Meter};
use rookery_world::cluster::{Cluster, Settings};

const MAIL_BYTES: usize = 8 * 1024;
const NOTE_BYTES: usize = 300;
const GOAL: f64 = 8.0;

#[derive(Parser)]
struct Arguments {
    /// Transactions of each kind in each round.
    #[arg(long, default_value_t = 2_000)]
    count: usize,
    /// Rounds, of which the one in the middle is told. One more comes first and warms up.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// `cargo bench` says this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What is measured, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    BareMail,
    InboundNew,
    Index,
    InboundReply,
    Parse,
    Judge,
    StoreBytes,
    BareNote,
    Note,
    Draft,
    Scheduled,
    Status,
    Tags,
    Assign,
}

const CASES: [(Case, &str); 14] = [
    (Case::BareMail, "bare insert, 8 KB row"),
    (Case::InboundNew, "inbound mail, new conversation"),
    (Case::Index, "search, apart: indexing a new conversation"),
    (Case::InboundReply, "inbound mail, reply that reopens"),
    (Case::Parse, "of these: taking the mail apart"),
    (Case::Judge, "of these: judging it (history, scam)"),
    (Case::StoreBytes, "of these: storing its bytes (fsync)"),
    (Case::BareNote, "bare insert, 300 byte row"),
    (Case::Note, "note"),
    (Case::Draft, "reply, draft"),
    (Case::Scheduled, "reply, scheduled"),
    (Case::Status, "status"),
    (Case::Tags, "tags"),
    (Case::Assign, "assign"),
];

impl Case {
    /// The bare insert of its width.
    fn bare(self) -> Self {
        match self {
            Self::BareMail
            | Self::InboundNew
            | Self::InboundReply
            | Self::Parse
            | Self::Judge
            | Self::StoreBytes
            | Self::Index => Self::BareMail,
            _ => Self::BareNote,
        }
    }
}

fn main() {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run(&arguments));
}

async fn run(arguments: &Arguments) {
    let cluster = Cluster::start(&Settings::bench());
    let meter = Meter::new(&cluster.folder().join("data"));
    let bench = Arc::new(Bench::load(&cluster, arguments).await);
    let mut samples: Vec<(Case, Sample)> = Vec::new();
    for round in 0..=arguments.rounds {
        for (case, _) in CASES {
            let sample = measure(&bench, &meter, case, round, arguments).await;
            if round > 0 {
                samples.push((case, sample));
            }
            // What is to be indexed is new mail, and only that.
            if case == Case::InboundReply || case == Case::Assign {
                bench.index().await;
            }
        }
    }
    print(arguments, &samples);
    drop(bench);
}

#[derive(Clone, Copy)]
struct Sample {
    /// Microseconds of one transaction.
    cpu: Cpu,
    per_second: f64,
}

impl Sample {
    fn total(self) -> f64 {
        self.cpu.ours + self.cpu.postgres
    }
}

async fn measure(
    bench: &Arc<Bench>,
    meter: &Meter,
    case: Case,
    round: usize,
    arguments: &Arguments,
) -> Sample {
    let (count, next) = (arguments.count, Arc::new(AtomicUsize::new(0)));
    let mails = Arc::new((0..count).map(|number| bench.input(case, round, number)).collect::<Vec<_>>());
    let (before, started) = (meter.read(), Instant::now());
    if case == Case::Index {
        // One loop of the worker, in its batches.
        bench.index().await;
    } else {
        let clients = (0..arguments.clients).map(|_| {
            let (bench, next, mails) = (bench.clone(), next.clone(), mails.clone());
            tokio::spawn(async move {
                while let Some(input) = mails.get(next.fetch_add(1, Ordering::Relaxed)) {
                    bench.once(case, input).await;
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.expect("every transaction succeeds");
        }
    }
    let (used, seconds) = (meter.read() - before, started.elapsed().as_secs_f64());
    let count = count as f64;
    let cpu = Cpu { ours: used.ours / count, postgres: used.postgres / count };
    Sample { cpu, per_second: count / seconds }
}

fn print(arguments: &Arguments, samples: &[(Case, Sample)]) {
    let middle = |case: Case| {
        let mut of: Vec<Sample> =
            samples.iter().filter(|(measured, _)| *measured == case).map(|(_, sample)| *sample).collect();
        of.sort_by(|a, b| a.total().total_cmp(&b.total()));
        of[of.len() / 2]
    };
    println!(
        "{} transactions of each kind by {} clients, the middle of {} rounds; µs of CPU per transaction",
        arguments.count, arguments.clients, arguments.rounds
    );
    println!("| transaction | PostgreSQL | Rookery | together | × bare | per second |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (case, name) in CASES {
        let (sample, bare) = (middle(case), middle(case.bare()));
        println!(
            "| {name} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} |",
            sample.cpu.postgres,
            sample.cpu.ours,
            sample.total(),
            sample.total() / bare.total(),
            sample.per_second
        );
    }
    let multiple = middle(Case::InboundNew).total() / middle(Case::BareMail).total();
    let verdict = if multiple <= GOAL { "reached" } else { "MISSED" };
    println!("inbound mail is {multiple:.1} × the bare insert; the goal of {GOAL} is {verdict}");
}

/// One workspace with conversations for every round, and tables for bare inserts.
struct Bench {
    app: App,
    bare: PgPool,
    workspace: WorkspaceId,
    mailbox: Mailbox,
    agent: Agent,
    words: Vec<String>,
    /// Conversations for what agents write, and as many that wait for the customer.
    base: i64,
    each_round: usize,
    folder: std::path::PathBuf,
}

/// What one transaction is given; made before the time is taken.
enum Input {
    Mail(Vec<u8>),
    Parsed(Box<ParsedMail>),
    Text(String),
    Call { operation: &'static str, id: String, body: Vec<u8> },
    Nothing,
}

impl Bench {
    async fn load(cluster: &Cluster, arguments: &Arguments) -> Self {
        let folder = std::env::temp_dir().join(format!("rookery-bench-{}", std::process::id()));
        let url = cluster.url("postgres");
        let settings = [
            ("ROOKERY_DATABASE_URL", url.clone()),
            ("ROOKERY_BLOBS", format!("file://{}", folder.display())),
            ("ROOKERY_DATABASE_CONNECTIONS", (arguments.clients + 2).to_string()),
            ("ROOKERY_SECRET_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned()),
        ];
        let settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value));
        let config = Config::load(None, settings).expect("the settings are sound");
        let random = Random::seeded(1);
        let words = (0..3_000).map(|number| random.letters(3 + number % 8)).collect();
        let app = App::new(config, Clock::system(), random).expect("an app");
        MIGRATIONS.run(&app.pool).await.expect("the migrations apply");
        let made = create::create(&app, "Acme", Plan::Pro, "olga@acme.example", "Olga Owner").await;
        let made = made.expect("a workspace");
        let (workspace, owner) = (made.workspace, made.owner);
        let mailbox =
            mailboxes::create(&app, workspace, &By::System, "help@acme.example", "Help", None).await;
        let wanted =
            keys::KeyChoices { name: "bot", scopes: &Scope::ALL, livemode: true, caps: Caps::default() };
        let key = keys::create(&app, workspace, &By::System, owner, wanted).await.expect("a key");
        let mut conn = app.connection().await.expect("a connection");
        let mailbox = mailboxes::live(&mut conn, workspace, mailbox.expect("an inbox")).await.expect("it");
        drop(conn);
        let actor = Actor {
            workspace,
            member: MemberId::Agent(key.agent),
            name: "bot".into(),
            scopes: Scope::ALL.to_vec(),
            livemode: true,
            private_of: owner,
        };
        let agent = Agent { actor, id: key.agent, plan: Plan::Pro, stopped: false, caps: Caps::default() };
        let bare = rookery_base::store::db::pool(&url, arguments.clients as u32).expect("a pool");
        let each_round = arguments.count;
        let bench = Self { app, bare, workspace, mailbox, agent, words, base: 1 << 40, each_round, folder };
        bench.fill(2 * (arguments.rounds + 1) * each_round).await;
        bench
    }

    /// Conversations with a mail and our answer: the even ones open, the odd ones waiting.
    async fn fill(&self, count: usize) {
        let statement = format!(
            "create table bare_mail (workspace_id bigint, conversation_id bigint, id bigint, mailbox_id bigint,
                 item integer, at timestamptz, direction text, from_name text, from_email text, text text,
                 attachments jsonb, automatic boolean, rfc_message_id text, id_hash bigint, content_hash bytea,
                 raw_blob text, also_to text[], primary key (workspace_id, conversation_id, id));
             create table bare_note (workspace_id bigint, conversation_id bigint, id bigint, item integer,
                 at timestamptz, author text, body text, primary key (workspace_id, conversation_id, id));
             insert into conversations (workspace_id, id, mailbox_id, audience, contact_name, contact_email, subject,
                 snippet, status, announced_turn, created_at, last_message_at, message_count, last_item)
             select {w}, {base} + n, {mailbox}, 0, 'Ada ' || n, 'ada' || n || '@customer.example', 'Order ' || n,
                 repeat('word ', 40), case n % 2 when 0 then 'open' else 'waiting' end,
                 case n % 2 when 0 then 'ours' else 'theirs' end, now(), now(), 2, 2
             from generate_series(0, {count} - 1) n;
             insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_email, text,
                 id_hash, content_hash)
             select {w}, {base} + n, 2 * n + 1, {mailbox}, 1, now(), 'inbound', 'ada' || n || '@customer.example',
                 repeat('word ', 400), n, sha256(n::text::bytea)
             from generate_series(0, {count} - 1) n;
             insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sent_at,
                 from_email, text, rfc_message_id)
             select {w}, {base} + n, 2 * n + 2, {mailbox}, 2, now(), 'outbound', 'sent', now(), 'help@acme.example',
                 repeat('word ', 100), 'sent-' || n || '@acme.example'
             from generate_series(0, {count} - 1) n;
             analyze; checkpoint",
            w = self.workspace.number(),
            base = self.base,
            mailbox = self.mailbox.id.number(),
        );
        let mut conn = self.bare.acquire().await.expect("a connection");
        let patient = format!("set statement_timeout = 0; {statement}; reset statement_timeout");
        sqlx::raw_sql(AssertSqlSafe(patient)).execute(&mut *conn).await.expect("the rows can be loaded");
    }

    /// Different words every time, as indexes and compression know repeats.
    fn text(&self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let number = self.app.random.number() as usize;
            text.push_str(&self.words[number % self.words.len()]);
            text.push(if number.is_multiple_of(11) { '\n' } else { ' ' });
        }
        text
    }

    fn mail(&self, sender: &str, answers: &str) -> Vec<u8> {
        let (id, text) = (self.app.random.hex(32), self.text(MAIL_BYTES).replace('\n', "\r\n"));
        format!(
            "Message-ID: <{id}@customer.example>\r\nFrom: Ada <{sender}>\r\nTo: help@acme.example\r\n\
             Subject: My order\r\nDate: Mon, 6 Jan 2031 09:00:00 +0000\r\nMIME-Version: 1.0\r\n{answers}\
             Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
        )
        .into_bytes()
    }

    fn input(&self, case: Case, round: usize, number: usize) -> Input {
        let number = 2 * (round * self.each_round + number);
        let call = |operation, body: Value| Input::Call {
            operation,
            id: ConversationId(self.base + number as i64).to_string(),
            body: body.to_string().into_bytes(),
        };
        match case {
            Case::BareMail => Input::Text(self.text(MAIL_BYTES)),
            Case::BareNote => Input::Text(self.text(NOTE_BYTES)),
            Case::InboundNew | Case::Parse | Case::StoreBytes => {
                Input::Mail(self.mail("new@customer.example", ""))
            }
            Case::Judge => {
                let mail = parse(&self.mail("new@customer.example", "")).expect("a sound mail");
                Input::Parsed(Box::new(mail))
            }
            Case::InboundReply => {
                let waiting = number + 1;
                let answers = format!("In-Reply-To: <sent-{waiting}@acme.example>\r\n");
                Input::Mail(self.mail(&format!("ada{waiting}@customer.example"), &answers))
            }
            Case::Index => Input::Nothing,
            Case::Note => call("add_note", json!({ "body": self.text(NOTE_BYTES) })),
            Case::Draft => call("reply", json!({ "body": self.text(NOTE_BYTES) })),
            Case::Scheduled => call("reply", json!({ "body": self.text(NOTE_BYTES), "send": true })),
            Case::Status => call("set_status", json!({ "status": "closed" })),
            Case::Tags => call("tag_conversation", json!({ "add": [format!("tag {}", number % 50)] })),
            Case::Assign => call("assign_conversation", json!({ "to": "me" })),
        }
    }

    async fn once(&self, case: Case, input: &Input) {
        match input {
            Input::Mail(raw) => self.with_mail(case, raw.clone()).await,
            Input::Parsed(mail) => judge(mail),
            Input::Text(text) => self.insert(case, text).await,
            Input::Call { operation, id, body } => {
                let entry = OPERATIONS.iter().find(|entry| entry.spec.name == *operation).expect("known");
                let conn = self.app.connection().await.expect("a connection");
                let request = Request { id: Some(id), given: Given::Body(body), key: Ok(None) };
                entry.call(&self.app, &self.agent, conn, request).await.expect(operation);
            }
            Input::Nothing => {}
        }
    }

    async fn with_mail(&self, case: Case, raw: Vec<u8>) {
        match case {
            Case::Parse => {
                let parsed = tokio::task::spawn_blocking(move || parse(&raw)).await.expect("no panic");
                assert!(parsed.is_ok());
            }
            Case::StoreBytes => {
                self.app.blobs.put(self.workspace, "mail", [raw.into()]).await.expect("the bytes are stored");
            }
            _ => {
                let mailbox = self.mailbox.clone();
                let delivery = Delivery::from_raw(mailbox, raw, Dmarc::Pass);
                let outcome = receive(&self.app, self.workspace, delivery).await.expect("the pipeline works");
                let Received::Stored(stored) = outcome else { panic!("not stored: {outcome:?}") };
                let joined = (self.base..self.base << 1).contains(&stored.conversation.0);
                assert_eq!(joined, case == Case::InboundReply);
            }
        }
    }

    /// The floor: one row, one statement, one commit.
    async fn insert(&self, case: Case, text: &str) {
        let now = self.app.clock.now();
        let ids: [i64; 3] = std::array::from_fn(|_| self.app.random.number() as i64 >> 1);
        let done = if case == Case::BareNote {
            let row = sqlx::query("insert into bare_note values ($1, $2, $3, 1, $4, 'bot', $5)");
            row.bind(ids[0]).bind(ids[1]).bind(ids[2]).bind(now).bind(text).execute(&self.bare).await
        } else {
            let row = sqlx::query(
                "insert into bare_mail values ($1, $2, $3, 1, 1, $4, 'inbound', 'Ada', 'new@customer.example', $5,
                     '[]', false, $6, $1, $7, $6, '{}')",
            );
            let name = "0123456789abcdef0123456789abcdef@customer.example";
            let row = row.bind(ids[0]).bind(ids[1]).bind(ids[2]).bind(now).bind(text);
            row.bind(name).bind([7_u8; 32].as_slice()).execute(&self.bare).await
        };
        done.expect("a bare insert");
    }

    /// Works off everything that waits to be indexed.
    async fn index(&self) {
        let mut conn = self.app.connection().await.expect("a connection");
        while let [workspace] =
            pending::unindexed(&mut conn, self.app.clock.now(), &Aside::default()).await.expect("notes")[..]
        {
            let mut tx = self.app.begin(workspace).await.expect("a transaction");
            index::index(&mut tx, index::OF_THE_WORKER).await.expect("the words are indexed");
            tx.commit().await.expect("a commit");
        }
    }
}

/// What is thought about a mail before it is stored.
fn judge(mail: &ParsedMail) {
    let text = quote::own_words(mail);
    let context = scam::Context {
        text: &text,
        dmarc_failed: false,
        unwanted: false,
        our_domains: &["acme.example".to_owned()],
        team_names: &["Olga Owner".to_owned()],
        workspace_name: "Acme",
        new_sender_in_thread: false,
        repeated_id: false,
    };
    assert!(scam::assess(mail, &context).risk.is_none());
    assert!(!text.is_empty());
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
