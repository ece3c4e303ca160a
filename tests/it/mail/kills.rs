//! Kill -9 at every named step of a mail that comes in: after DATA, between blob and row, after the insert, after
//! COMMIT and before the 250. The client keeps a ledger of what was acknowledged; what was not is sent again, as
//! mail servers do. Mail that is stored together dies together. A 250 is always readable afterwards, a retry stores
//! nothing twice, no row names a missing file, and files without a row are swept.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use rookery::worker::sweep::sweep;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::random::Random;
use sqlx::PgPool;
use tokio::task::JoinHandle;

use rookery_world::cluster::cluster;
use rookery_world::mail::client::Client;
use rookery_world::mail::dns::Zone;
use rookery_world::mail::gate::{Gate, Step};
use rookery_world::mail::post::mail;
use rookery_world::ports;
use rookery_world::site::{Node, SECRET_KEY, Site};

/// Where a mail is when its node dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    AfterData,
    BetweenBlobAndRow,
    AfterInsert,
    AfterCommit,
}

const MOMENTS: [Moment; 4] =
    [Moment::AfterData, Moment::BetweenBlobAndRow, Moment::AfterInsert, Moment::AfterCommit];

impl Moment {
    /// Mail whose name begins with `large` has a file in it and needs blobs.
    fn size(self) -> &'static str {
        if self == Moment::BetweenBlobAndRow { "large" } else { "small" }
    }

    fn step(self) -> Step {
        match self {
            // A large mail's blobs are stored before its transaction begins.
            Moment::AfterData | Moment::BetweenBlobAndRow => Step::Begun,
            Moment::AfterInsert => Step::Written,
            Moment::AfterCommit => Step::Committed,
        }
    }
}

/// What was sent, by name: acknowledged, or to be sent again.
#[derive(Default)]
struct Ledger {
    acknowledged: BTreeSet<String>,
    waiting: BTreeSet<String>,
}

/// A site with an inbox, whose nodes reach the database through a gate.
struct Gated {
    site: Site,
    gate: Gate,
    pool: PgPool,
    smtp: SocketAddr,
    zone: Zone,
}

impl Gated {
    async fn open() -> Self {
        let site = Site::migrated().await;
        let (workspace, _) = site.workspace();
        site.inbox(&workspace, "help@acme.example", "Help");
        Self {
            gate: Gate::before(cluster().port()).await,
            pool: PgPool::connect(site.database.url()).await.unwrap(),
            smtp: ports::free(),
            zone: Zone::serve(&[]).await,
            site,
        }
    }

    async fn serve(&self, name: &str) -> Node {
        let database = self.gate.url(self.site.database.name());
        let (listen, dns) = (self.smtp.to_string(), self.zone.address.to_string());
        let settings =
            [("ROOKERY_DATABASE_URL", &*database), ("ROOKERY_SMTP_LISTEN", &listen), ("ROOKERY_DNS", &dns)];
        self.site.serve(name, &settings).await
    }
}

async fn killed(kills: usize) {
    let gated = Gated::open().await;
    let Gated { site, gate, pool, smtp, .. } = &gated;
    let smtp = *smtp;
    let mut ledger = Ledger::default();
    // By moment, and by how many were stored without a 250.
    let mut by_moment = BTreeMap::new();
    for kill in 0..kills {
        let moment = MOMENTS[kill % MOMENTS.len()];
        let mut node = gated.serve("killed").await;
        ledger.retry(smtp).await;
        // Every other time several mails are stored together; large ones are not.
        let in_lots = moment != Moment::BetweenBlobAndRow && (kill / MOMENTS.len()) % 2 == 1;
        let victims: Vec<String> =
            (0..if in_lots { 3 } else { 1 }).map(|n| format!("{}{kill}x{n}", moment.size())).collect();
        let mut sending = if in_lots {
            gather(gate, smtp, kill, &victims, moment).await
        } else {
            gate.stop_at(moment.step(), 0);
            vec![tokio::spawn(send(smtp, victims[0].clone()))]
        };
        assert!(gate.reached().await, "{victims:?} came nowhere near {moment:?}: {}", node.log());
        // Others are wherever they are.
        let others = ["small", "large", "large"].iter().enumerate();
        sending.extend(others.map(|(n, size)| tokio::spawn(send(smtp, format!("{size}{kill}other{n}")))));
        tokio::time::sleep(Duration::from_millis(kill as u64 * 7 % 100)).await;
        node.kill();
        gate.cut();
        for sent in sending {
            ledger.note(sent.await.unwrap());
        }
        let stored = stored(pool).await;
        let unheard = victims.iter().all(|victim| ledger.waiting.contains(victim));
        assert!(unheard, "one of {victims:?} heard a 250 and was killed {moment:?}");
        let died = victims.iter().filter(|victim| stored.contains_key(*victim)).count();
        assert_eq!(
            died > 0,
            moment == Moment::AfterCommit,
            "{died} of {victims:?} are stored, killed {moment:?}"
        );
        *by_moment.entry((moment, died)).or_insert(0) += 1;
    }
    let _node = gated.serve("last").await;
    ledger.retry(smtp).await;
    let stored = stored(pool).await;
    assert!(stored.values().all(|count| *count == 1), "nothing twice: {stored:?}");
    let stored: BTreeSet<String> = stored.into_keys().collect();
    assert_eq!(stored, ledger.acknowledged, "every 250 is there, and everything there was asked for");
    // On a busy machine a few may miss their lot.
    let lots = by_moment.keys().filter(|(_, died)| *died > 1).count();
    assert!(lots > 0 || kills < 20, "no mail was stored together: {by_moment:?}");
    let (files, orphans) = judge_files(pool, site, &by_moment).await;
    println!(
        "{kills} kills {by_moment:?}: {} mails acknowledged, each stored once, {files} files, {orphans} orphans swept",
        ledger.acknowledged.len()
    );
    pool.close().await;
}

/// Mails of one moment: they wait behind one that is on its way, and then go together. Stops them at the moment.
async fn gather(
    gate: &Gate,
    smtp: SocketAddr,
    kill: usize,
    victims: &[String],
    moment: Moment,
) -> Vec<JoinHandle<(String, bool)>> {
    gate.close();
    let mut sending = vec![tokio::spawn(send(smtp, format!("small{kill}first")))];
    assert!(gate.reached().await, "the first is on its way");
    sending.extend(victims.iter().map(|victim| tokio::spawn(send(smtp, victim.clone()))));
    // Until all of them have said their DATA.
    tokio::time::sleep(Duration::from_millis(300)).await;
    // The first has begun already; it still has to write and to commit.
    gate.stop_at(moment.step(), usize::from(moment.step() != Step::Begun));
    gate.open_again();
    sending
}

impl Ledger {
    fn note(&mut self, (name, acknowledged): (String, bool)) {
        if acknowledged {
            self.waiting.remove(&name);
            self.acknowledged.insert(name);
        } else {
            self.waiting.insert(name);
        }
    }

    async fn retry(&mut self, smtp: SocketAddr) {
        for name in self.waiting.clone() {
            let sent = send(smtp, name).await;
            assert!(sent.1, "{} is taken in the end", sent.0);
            self.note(sent);
        }
    }
}

/// Its name, and whether it was acknowledged.
async fn send(smtp: SocketAddr, name: String) -> (String, bool) {
    let acknowledged = tokio::time::timeout(Duration::from_secs(10), offer(smtp, &name)).await;
    (name, acknowledged.unwrap_or(false))
}

async fn offer(smtp: SocketAddr, name: &str) -> bool {
    let Ok(stream) = tokio::net::TcpStream::connect(smtp).await else { return false };
    let (mut client, greeting) = Client::over(stream).await;
    if greeting.code != 220 || client.say("EHLO customer.example").await.code != 250 {
        return false;
    }
    let raw = if name.starts_with("large") {
        with_file(name)
    } else {
        mail("anna@customer.example", name, "", "Hello")
    };
    client.mail("anna@customer.example", "help@acme.example", &raw).await.code == 250
}

fn with_file(name: &str) -> String {
    let bytes = BASE64_STANDARD.encode(name.repeat(8_000));
    let lines: Vec<&str> = bytes.as_bytes().chunks(76).map(|line| str::from_utf8(line).unwrap()).collect();
    let parts = format!(
        "--b\nContent-Type: text/plain\n\nHello\n--b\nContent-Type: application/pdf; name=a.pdf\n\
         Content-Transfer-Encoding: base64\n\n{}\n--b--",
        lines.join("\n")
    );
    mail("anna@customer.example", name, "Content-Type: multipart/mixed; boundary=b", &parts)
}

/// How often each mail is there.
async fn stored(pool: &PgPool) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "select split_part(rfc_message_id, '@', 1), count(*) from messages where direction = 'inbound' group by 1",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    rows.into_iter().collect()
}

/// Every file a row names is there and is that mail's. Gives their names.
async fn named_files(pool: &PgPool, site: &Site) -> BTreeSet<String> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "select split_part(rfc_message_id, '@', 1), raw_blob from messages where raw_blob is not null
         union all
         select split_part(rfc_message_id, '@', 1), jsonb_array_elements(attachments)->>'blob' from messages
         union all
         select 'large', blob from documents",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    let blobs = site.folder.join("blobs");
    for (name, blob) in &rows {
        let bytes =
            std::fs::read(blobs.join(blob)).unwrap_or_else(|error| panic!("{name} has lost {blob}: {error}"));
        assert!(String::from_utf8_lossy(&bytes).contains(name), "{blob} is another's");
    }
    rows.into_iter().map(|(_, blob)| blob).collect()
}

/// The same, and the others are gone after the sweep.
async fn judge_files(pool: &PgPool, site: &Site, kills: &BTreeMap<(Moment, usize), usize>) -> (usize, usize) {
    let (named, blobs) = (named_files(pool, site).await, site.folder.join("blobs"));
    // As a node leaves it that dies in the middle of writing a file; few kills come there by themselves.
    let some = named.first().expect("some mail has files");
    std::fs::write(blobs.join(format!("{some}#1")), "half").unwrap();
    let before = files(&blobs);
    let orphans = before.difference(&named).count();
    let wanted = kills.get(&(Moment::BetweenBlobAndRow, 0)).copied().unwrap_or(0);
    assert!(orphans >= wanted, "{wanted} nodes died with a blob and no row, and left {orphans}");
    sweep_three_days_later(pool, site).await;
    let after = files(&blobs);
    let other: Vec<&String> = after.symmetric_difference(&named).collect();
    assert!(other.is_empty(), "what no row names is gone, and nothing else: {other:?}");
    (named.len(), orphans)
}

fn files(blobs: &Path) -> BTreeSet<String> {
    let mut open = vec![blobs.to_owned()];
    let mut found = BTreeSet::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(blobs).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

async fn sweep_three_days_later(pool: &PgPool, site: &Site) {
    let now: DateTime<Utc> = sqlx::query_scalar("select now()").fetch_one(pool).await.unwrap();
    let blobs = format!("file://{}", site.folder.join("blobs").display());
    let settings = [("DATABASE_URL", site.database.url()), ("BLOBS", &blobs), ("SECRET_KEY", SECRET_KEY)];
    let settings = settings.map(|(name, value)| (format!("ROOKERY_{name}"), value.to_owned()));
    let config = Config::load(None, settings.into_iter()).unwrap();
    let app = App::new(config, Clock::set_to(now + TimeDelta::days(3)), Random::seeded(1)).unwrap();
    sweep(&app, &app.loops.backoff_of("sweep files")).await.unwrap();
    app.pool.close().await;
}

/// The database has committed, and the connection is lost before it can say so. The node lives on, and does not know.
async fn cut(cuts: usize) {
    let gated = Gated::open().await;
    let Gated { site, gate, pool, smtp, .. } = &gated;
    let smtp = *smtp;
    let node = gated.serve("cut").await;
    for number in 0..cuts {
        let name = format!("large{number}");
        gate.stop_at(Step::Committed, 0);
        let sending = tokio::spawn(send(smtp, name.clone()));
        assert!(gate.reached().await, "{name} came nowhere near its commit: {}", node.log());
        gate.cut();
        assert!(!sending.await.unwrap().1, "nobody knows that {name} is stored");
        assert_eq!(stored(pool).await.get(&name), Some(&1), "{name} is stored all the same");
        named_files(pool, site).await;
        // All connections were cut, and each is found dead once.
        let mut again = 0;
        while !send(smtp, name.clone()).await.1 {
            again += 1;
            assert!(again < 50, "{name} is acknowledged when it comes again: {}", node.log());
            named_files(pool, site).await;
        }
        assert_eq!(stored(pool).await.get(&name), Some(&1), "and stored once");
    }
    assert_eq!(named_files(pool, site).await.len(), 2 * cuts, "each mail has its bytes and its file");
    pool.close().await;
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_leaves_no_row_without_its_file() {
    cut(3).await;
}

#[tokio::test]
#[ignore = "takes minutes: just kill-mail"]
async fn two_hundred_commits_whose_answer_is_lost_leave_no_row_without_its_file() {
    cut(200).await;
}

#[tokio::test]
async fn an_acknowledged_mail_survives_a_kill_at_every_step() {
    killed(2 * MOMENTS.len()).await;
}

#[tokio::test]
#[ignore = "takes minutes: just kill-mail"]
async fn acknowledged_mail_survives_two_hundred_kills() {
    killed(200).await;
}
