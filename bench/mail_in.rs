//! The mail bench: durable mails a second and processor time a mail, for 8 KB messages from `smtp-source -s 20`,
//! in turns with Postfix taking the same load into its queue and with `pgbench -c 20` inserting the same bytes
//! into a bare table. Then ten mails of 25 MB at once, and what memory they took.
//!
//!     cargo bench --bench mail_in -- [--count N] [--rounds N] [--assistants off|rules|hanging]

use std::collections::HashMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use rookery_world::cluster::{Cluster, Settings};
use rookery_world::mail::dns::Zone;

const SESSIONS: &str = "20";
const BYTES: usize = 8 * 1024;
const GOAL: f64 = 0.2;
const LARGE: usize = 25 * 1024 * 1024;
const MOST_MEMORY: u64 = 512 * 1024;

#[derive(Parser)]
struct Arguments {
    /// Mails in each round.
    #[arg(long, default_value_t = 5_000)]
    count: usize,
    /// Rounds, of which the one in the middle is told. One more comes first and warms up.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// What sorts meanwhile: nobody, rules, or a model that never answers and is to draft, too.
    #[arg(long, value_enum, default_value = "rules")]
    assistants: Assistants,
    /// `cargo bench` says this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Assistants {
    Off,
    Rules,
    Hanging,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    per_second: f64,
    /// Microseconds of processor time for each mail, of everybody but the client.
    cpu: f64,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let cluster = Cluster::start(&Settings::bench());
    let zone = Zone::serve(&[
        ("customer.test", "v=spf1 ip4:127.0.0.1 -all"),
        ("_dmarc.customer.test", "v=DMARC1; p=reject"),
    ])
    .await;
    let model = model_that_hangs();
    let site = Site::start(&cluster, &zone, &model);
    choose(&cluster, arguments.assistants, &model).await;
    let postfix = Postfix::start(&site.folder.join("postfix"));
    bare_table(&cluster).await;
    let mut samples: HashMap<&str, Vec<Sample>> = HashMap::new();
    for round in 0..=arguments.rounds {
        let taken = [
            ("Rookery", site.measure(arguments.count)),
            ("Postfix", postfix.measure(arguments.count)),
            ("bare insert", bare(&cluster, arguments.count)),
        ];
        for (name, sample) in taken.into_iter().filter(|_| round > 0) {
            println!("round {round}: {name} {:.0} a second, {:.0} µs", sample.per_second, sample.cpu);
            samples.entry(name).or_default().push(sample);
        }
        site.wait_for_index(&cluster).await;
        if round == 0 {
            // As autovacuum would within a minute: statements are planned for tables that are not empty.
            let mut conn = PgConnection::connect(&cluster.url("postgres")).await.expect("a connection");
            sqlx::raw_sql("vacuum analyze").execute(&mut conn).await.expect("statistics");
        }
    }
    let stored = count(&cluster, "select count(*) from messages").await;
    assert_eq!(stored as usize, arguments.count * (arguments.rounds + 1), "every 250 is a message");
    let unchecked = count(&cluster, "select count(*) from messages where verdict->>'dmarc' <> 'pass'").await;
    assert_eq!(unchecked, 0, "every mail was authenticated");
    tell(&arguments, &samples);
    large(&site).await;
}

fn tell(arguments: &Arguments, samples: &HashMap<&str, Vec<Sample>>) {
    let middle = |name: &str| {
        let mut of = samples[name].clone();
        of.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
        of[of.len() / 2]
    };
    let bare = middle("bare insert");
    println!(
        "{} mails of 8 KB by {SESSIONS} clients, the middle of {} rounds",
        arguments.count, arguments.rounds
    );
    println!("| who | mails a second | × bare insert | processor time a mail, µs |");
    println!("|---|--:|--:|--:|");
    for name in ["Rookery", "Postfix", "bare insert"] {
        let sample = middle(name);
        let share = sample.per_second / bare.per_second;
        println!("| {name} | {:.0} | {share:.2} | {:.0} |", sample.per_second, sample.cpu);
    }
    let ratio = middle("Rookery").per_second / bare.per_second;
    let ahead = middle("Rookery").per_second > middle("Postfix").per_second;
    let verdict = |reached| if reached { "reached" } else { "MISSED" };
    println!(
        "ahead of Postfix: {}; {ratio:.2} of the bare insert: the goal of {GOAL} is {}",
        verdict(ahead),
        verdict(ratio >= GOAL)
    );
}

/// Takes connections and never says anything.
fn model_that_hangs() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let mut held = Vec::new();
        held.extend(listener.incoming().flatten());
    });
    address
}

/// What the workspace chose. Without a row, rules sort.
async fn choose(cluster: &Cluster, assistants: Assistants, model: &str) {
    let engines = match assistants {
        Assistants::Rules => return,
        Assistants::Off => "'off', 'off'",
        Assistants::Hanging => "'model', 'model'",
    };
    let mut conn = PgConnection::connect(&cluster.url("postgres")).await.expect("a connection");
    let chosen = format!(
        "insert into assistant_settings (workspace_id, sorting, drafting, daily_calls, agreed_by, agreed_at, agreed_to,
                                         agreed_inboxes, changed_at)
         select w.id, {engines}, 1000000, (select min(id) from people where workspace_id = w.id), now(), '{model} hangs',
             array(select id from mailboxes where workspace_id = w.id and audience = 0), now()
         from workspaces w"
    );
    sqlx::raw_sql(AssertSqlSafe(chosen)).execute(&mut conn).await.expect("a choice");
}

/// Ten large mails at once.
async fn large(site: &Site) {
    let started = Instant::now();
    smtp_source(site.smtp, 10, 10, LARGE, "large@customer.test");
    let peak = memory(site.server.id(), "VmHWM:");
    let verdict = if peak < MOST_MEMORY { "reached" } else { "MISSED" };
    println!(
        "ten mails of 25 MB at once: {:.1} s, {} MB of memory at most; the goal of 512 MB is {verdict}",
        started.elapsed().as_secs_f64(),
        peak / 1024
    );
}

/// The real program, with its worker, as an operator runs it.
struct Site {
    folder: PathBuf,
    server: Child,
    smtp: u16,
    postmaster: u32,
}

impl Site {
    fn start(cluster: &Cluster, zone: &Zone, model: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rookery-mail-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (smtp, http) = (free_port(), free_port());
        let command = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_rookery"));
            command.args(arguments).env_clear().envs([
                ("ROOKERY_DATABASE_URL", cluster.socket_url("postgres")),
                ("ROOKERY_BLOBS", format!("file://{}", folder.join("blobs").display())),
                ("ROOKERY_SECRET_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned()),
                ("ROOKERY_LISTEN", format!("127.0.0.1:{http}")),
                ("ROOKERY_SMTP_LISTEN", format!("127.0.0.1:{smtp}")),
                ("ROOKERY_DNS", zone.address.to_string()),
                ("ROOKERY_DATABASE_CONNECTIONS", "25".to_owned()),
                // All of it is from one sender.
                ("ROOKERY_MAIL_SENDER_DAILY_MAILS", "1000000".to_owned()),
                ("ROOKERY_MAIL_SENDER_DAILY_MEGABYTES", "1000000".to_owned()),
                ("ROOKERY_MAIL_NETWORK_DAILY_MAILS", "1000000".to_owned()),
                ("ROOKERY_MAIL_NETWORK_DAILY_MEGABYTES", "1000000".to_owned()),
                ("ROOKERY_LOG", "warn".to_owned()),
                ("ROOKERY_ASSISTANTS_URL", model.to_owned()),
                ("ROOKERY_ASSISTANTS_MODEL", "hangs".to_owned()),
            ]);
            command
        };
        let run = |arguments: &[&str]| {
            let output = command(arguments).output().expect("the program runs");
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8(output.stdout).expect("text")
        };
        run(&["migrate"]);
        let made = run(&[
            "admin",
            "--json",
            "create-workspace",
            "--name",
            "Acme",
            "--plan",
            "pro",
            "--owner-email",
            "olga@acme.test",
            "--owner-name",
            "Olga Owner",
        ]);
        let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
        let workspace = made["workspace"].as_str().expect("an id");
        run(&[
            "admin",
            "create-mailbox",
            "--workspace",
            workspace,
            "--address",
            "help@acme.test",
            "--name",
            "Help",
        ]);
        let server = command(&["serve"]).spawn().expect("the program runs");
        let pid =
            fs::read_to_string(cluster.folder().join("data/postmaster.pid")).expect("a running cluster");
        let postmaster = pid.lines().next().and_then(|line| line.parse().ok()).expect("a process id");
        let site = Self { folder, server, smtp, postmaster };
        wait_for(smtp);
        site
    }

    fn measure(&self, count: usize) -> Sample {
        sample(count, &[self.server.id(), self.postmaster], || {
            smtp_source(self.smtp, 20, count, BYTES, "anna@customer.test");
        })
    }

    async fn wait_for_index(&self, cluster: &Cluster) {
        while count(cluster, "select count(*) from unindexed_messages").await > 0 {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

struct Postfix {
    folder: PathBuf,
    port: u16,
    master: u32,
}

impl Postfix {
    /// Mail is held in the queue, so that nothing but taking it costs anything.
    fn start(folder: &Path) -> Self {
        let port = free_port();
        let done = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/postfix"))
            .args(["start".as_ref(), folder.as_os_str()])
            .args([
                &format!("127.0.0.1:{port}"),
                "smtpd_client_restrictions = check_client_access static:HOLD",
            ])
            .stdout(Stdio::null())
            .status();
        assert!(done.expect("the script runs").success(), "Postfix starts (apt install postfix)");
        wait_for(port);
        let master = fs::read_to_string(folder.join("queue/pid/master.pid")).expect("Postfix runs");
        Self { folder: folder.into(), port, master: master.trim().parse().expect("a process id") }
    }

    fn measure(&self, count: usize) -> Sample {
        sample(count, &[self.master], || smtp_source(self.port, 20, count, BYTES, "anna@customer.test"))
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        let _ = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/postfix"))
            .args(["stop".as_ref(), self.folder.as_os_str()])
            .status();
    }
}

async fn bare_table(cluster: &Cluster) {
    let mut conn = PgConnection::connect(&cluster.url("postgres")).await.expect("a connection");
    sqlx::raw_sql(
        "create table bare (id bigint generated always as identity primary key, mail bytea not null);
         alter table bare alter column mail set storage external",
    )
    .execute(&mut conn)
    .await
    .expect("a table");
}

/// The same number of bytes by the same number of clients, each its own commit.
fn bare(cluster: &Cluster, number: usize) -> Sample {
    let script = std::env::temp_dir().join(format!("rookery-bare-{}.sql", std::process::id()));
    fs::write(&script, "insert into bare (mail) values (:mail);\n").expect("a script");
    let pid = fs::read_to_string(cluster.folder().join("data/postmaster.pid")).expect("a running cluster");
    let postmaster: u32 = pid.lines().next().and_then(|line| line.parse().ok()).expect("a process id");
    let each = number / 20;
    let sample = sample(each * 20, &[postmaster], || {
        let done = Command::new("pgbench")
            .args(["-n", "-M", "prepared", "-c", SESSIONS, "-j", "2", "-t", &each.to_string()])
            .args(["-D", &format!("mail={}", "X".repeat(BYTES)), "-f"])
            .arg(&script)
            .arg(cluster.socket_url("postgres"))
            .output()
            .expect("pgbench is there");
        assert!(done.status.success(), "{done:?}");
    });
    let _ = fs::remove_file(script);
    sample
}

async fn count(cluster: &Cluster, query: &'static str) -> i64 {
    let mut conn = PgConnection::connect(&cluster.url("postgres")).await.expect("a connection");
    sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut conn).await.expect("a number")
}

fn smtp_source(port: u16, sessions: usize, count: usize, bytes: usize, from: &str) {
    let done = Command::new("smtp-source")
        .args(["-s", &sessions.to_string(), "-m", &count.to_string(), "-l", &bytes.to_string()])
        .args(["-f", from, "-M", "customer.test", "-t", "help@acme.test", &format!("inet:127.0.0.1:{port}")])
        .output()
        .expect("smtp-source is there (apt install postfix)");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn sample(count: usize, servers: &[u32], run: impl FnOnce()) -> Sample {
    let (before, started) = (processor_time(servers), Instant::now());
    run();
    let seconds = started.elapsed().as_secs_f64();
    // The time of a child is known when its parent has noticed its end.
    std::thread::sleep(Duration::from_secs(1));
    let spent = processor_time(servers) - before;
    Sample { per_second: count as f64 / seconds, cpu: spent * 1e6 / count as f64 }
}

/// Seconds that these processes and their children have computed. Linux counts in hundredths.
fn processor_time(roots: &[u32]) -> f64 {
    let mut ticks = 0;
    for entry in fs::read_dir("/proc").expect("processes can be listed").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(text) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let numbers: Vec<u64> = text
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect())
            .unwrap_or_default();
        if roots.contains(&pid) {
            ticks += numbers[11..15].iter().sum::<u64>();
        } else if roots.contains(&(numbers[1] as u32)) {
            ticks += numbers[11] + numbers[12];
        }
    }
    ticks as f64 / 100.0
}

/// Kilobytes, from the kernel's account of a process.
fn memory(process: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("the kernel tells");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

fn wait_for(port: u16) {
    for _ in 0..300 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing listens on {port}");
}
