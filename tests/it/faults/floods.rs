//! Everything a stranger can flood us with, at once, from twenty addresses, while honest people go on: mail with
//! thousands of words to an address of the sender's own choice, hooks with thousands of signatures, bodies behind
//! made-up keys, heads that never end, signatures whose name server is silent, and mail that drips.
//!
//! Honest requests and mails are all answered in time, memory stays small, every 250 is there afterwards, and
//! soon after the flood nothing is left of it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rookery::clock::Clock;
use sqlx::PgPool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::world::Reply;
use crate::world::mail::client::Client;
use crate::world::mail::dns::Zone;
use crate::world::ports;
use crate::world::site::{Node, Site, text};

/// Addresses that floods come from.
const ATTACKERS: u8 = 20;
/// The longest that one honest request or mail may take, for all but one in a hundred. Without optimisation, and beside
/// other tests, it only has to be an answer.
const IN_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 2 });
/// When an honest one is given up.
const PATIENCE: Duration = Duration::from_secs(25);
const AS_BEFORE: Duration = Duration::from_secs(30);
/// What the process may use, by how it was built: without optimisation the same work holds more at once.
const MOST_MEGABYTES: u64 = if cfg!(debug_assertions) { 400 } else { 300 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_people_are_served_under_all_floods_for_a_moment() {
    flooded(Duration::from_secs(8)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes two minutes: just floods"]
async fn honest_people_are_served_under_all_floods_for_a_minute() {
    flooded(Duration::from_secs(60)).await;
}

async fn flooded(time: Duration) {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    for (address, name) in [("help@acme.example", "Help"), ("quiet@acme.example", "Quiet")] {
        site.inbox(&workspace, address, name);
    }
    let keys: Vec<String> = ["ash", "birch"].map(|name| site.key(&workspace, &owner, name, "live").1).into();
    let smtp = ports::free();
    let zone = Zone::serve(&[("slow.example", "SILENT")]).await;
    let (listen, dns) = (smtp.to_string(), zone.address.to_string());
    let settings = [
        ("ROOKERY_SMTP_LISTEN", listen.as_str()),
        ("ROOKERY_DNS", &dns),
        // Honest people ask often here, so that there is something to measure.
        ("ROOKERY_RATE_LIMIT_REQUESTS", "100000"),
    ];
    let node = site.serve("flooded", &settings).await;
    let http: SocketAddr = node.address.strip_prefix("http://").unwrap().parse().unwrap();
    let hook = connected_hook(&site, &workspace, &owner);

    let honest = Arc::new(Honest::default());
    let before = served(&site, &node, smtp, &keys, &honest, Duration::from_secs(2)).await;
    let quiet = connections(&node);

    let over = Arc::new(AtomicBool::new(false));
    let hits = Arc::new(Hits::default());
    let mut floods = JoinSet::new();
    for number in 1..=ATTACKERS {
        let from = IpAddr::V4(Ipv4Addr::new(127, 1, 0, number));
        let flood = Flood { from, over: over.clone(), hits: hits.clone() };
        floods.spawn(flood.clone().half_heads(http));
        floods.spawn(flood.clone().slow_mail(smtp));
        match number % 4 {
            0 => floods.spawn(flood.clone().words(smtp)),
            1 => floods.spawn(flood.clone().signatures_of_a_hook(http, hook.clone())),
            2 => floods.spawn(flood.clone().bodies_behind_a_made_up_key(http)),
            _ => floods.spawn(flood.clone().signatures_of_a_mail(smtp)),
        };
    }
    let during = served(&site, &node, smtp, &keys, &honest, time).await;
    over.store(true, Ordering::Relaxed);
    let memory = peak_megabytes(&node);
    while floods.join_next().await.is_some() {}

    let ended = Instant::now();
    let after = loop {
        let after = served(&site, &node, smtp, &keys, &honest, Duration::from_secs(2)).await;
        if (connections(&node) <= quiet + 20 && after.p99() < IN_TIME) || ended.elapsed() > AS_BEFORE {
            break after;
        }
    };
    println!("before {before}\nduring {during}\nafter  {after}, {:?} later", ended.elapsed());
    println!("peak {memory} MB; {hits}");
    assert!(hits.all(), "every flood came through to the door: {hits}");
    for (when, figures) in [("before", &before), ("during", &during), ("after", &after)] {
        assert_eq!(figures.failed, Vec::<String>::new(), "{when}: everybody honest is answered");
        assert!(figures.p99() < IN_TIME, "{when}: {figures}");
    }
    assert!(memory < MOST_MEGABYTES, "{memory} MB");
    assert!(ended.elapsed() < AS_BEFORE + Duration::from_secs(5), "as before in time");
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let stored: Vec<String> =
        sqlx::query_scalar("select subject from conversations where contact_email like '%@honest.example'")
            .fetch_all(&pool)
            .await
            .unwrap();
    let (told, stored_once) = (honest.acknowledged(), stored.iter().cloned().collect::<BTreeSet<_>>());
    assert_eq!(stored.len(), stored_once.len(), "nothing twice");
    assert_eq!(told, stored_once, "every 250 is there");
    // The flood's own mail does not hide honest mail from a search.
    let last = told.last().expect("mail was taken");
    let found = site.get(&node, &format!("/api/v1/conversations?q={last}"), &keys[0]).await;
    assert_eq!(found.status, 200, "{}", found.text);
    assert_eq!(text(&found.json()[0], "subject"), *last);
    pool.close().await;
}

/// The path of a real hook: what is sent there is checked against a secret.
fn connected_hook(site: &Site, workspace: &str, owner: &str) -> String {
    let token = site.folder.join("token");
    std::fs::write(&token, "secret").unwrap();
    let made = site
        .command(&["admin", "--json", "connect-sending-service", "--workspace", workspace, "--person", owner])
        .args(["--name", "Shop", "--content-url", "http://127.0.0.1:9/", "--token-file"])
        .arg(&token)
        .env("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let url: url::Url = text(&made, "url").parse().unwrap();
    url.path().to_owned()
}

/// How many requests of each flood came through to the door.
#[derive(Default)]
struct Hits {
    half_heads: AtomicU64,
    slow_mail: AtomicU64,
    words: AtomicU64,
    hooks: AtomicU64,
    bodies: AtomicU64,
    signed: AtomicU64,
}

impl Hits {
    fn each(&self) -> [(&'static str, u64); 6] {
        [
            ("half heads", &self.half_heads),
            ("slow mail", &self.slow_mail),
            ("mail of many words", &self.words),
            ("hooks", &self.hooks),
            ("bodies", &self.bodies),
            ("signed mail", &self.signed),
        ]
        .map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }

    fn all(&self) -> bool {
        self.each().iter().all(|(_, count)| *count > 0)
    }
}

impl std::fmt::Display for Hits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let each = self.each().map(|(name, count)| format!("{count} {name}"));
        f.write_str(&each.join(", "))
    }
}

/// One attacker's address.
#[derive(Clone)]
struct Flood {
    from: IpAddr,
    over: Arc<AtomicBool>,
    hits: Arc<Hits>,
}

impl Flood {
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    async fn connect(&self, to: SocketAddr) -> Option<TcpStream> {
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind(SocketAddr::new(self.from, 0)).ok()?;
        tokio::time::timeout(Duration::from_secs(5), socket.connect(to)).await.ok()?.ok()
    }

    async fn pause(&self, time: Duration) {
        let ends = Instant::now() + time;
        while self.goes_on() && Instant::now() < ends {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Fifty connections that each begin a request and never end it; what is closed is opened again.
    async fn half_heads(self, http: SocketAddr) {
        let mut held: Vec<TcpStream> = Vec::new();
        while self.goes_on() {
            held.retain(|stream| !is_closed(stream));
            while held.len() < 50 && self.goes_on() {
                let Some(mut stream) = self.connect(http).await else { break };
                if stream.write_all(b"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX-A: ").await.is_ok() {
                    self.hits.half_heads.fetch_add(1, Ordering::Relaxed);
                    held.push(stream);
                }
            }
            for stream in &mut held {
                let _ = stream.write_all(b"a").await;
            }
            self.pause(Duration::from_millis(500)).await;
        }
    }

    /// Fifty connections that begin a mail and send a byte now and then.
    async fn slow_mail(self, smtp: SocketAddr) {
        let mut held: Vec<TcpStream> = Vec::new();
        while self.goes_on() {
            held.retain(|stream| !is_closed(stream));
            while held.len() < 50 && self.goes_on() {
                let Some(mut stream) = self.connect(smtp).await else { break };
                let begun = async {
                    for command in [
                        "EHLO slow.example\r\n",
                        "MAIL FROM:<slow@slow.example>\r\n",
                        "RCPT TO:<help@acme.example>\r\n",
                        "DATA\r\n",
                    ] {
                        hear(&mut stream).await?;
                        stream.write_all(command.as_bytes()).await.ok()?;
                    }
                    hear(&mut stream).await
                };
                if tokio::time::timeout(Duration::from_secs(5), begun).await.ok().flatten().is_none() {
                    break;
                }
                self.hits.slow_mail.fetch_add(1, Ordering::Relaxed);
                held.push(stream);
            }
            for stream in &mut held {
                let _ = stream.write_all(b"a").await;
            }
            self.pause(Duration::from_millis(500)).await;
        }
    }

    /// Mail with thousands of words that nobody has, all to one address of the sender's choice.
    async fn words(self, smtp: SocketAddr) {
        let mut number = 0_u64;
        while self.goes_on() {
            let mut text = String::with_capacity(600_000);
            for word in 0..50_000_u64 {
                text.push_str(&format!(
                    "{:x}{}",
                    number * 50_000 + word,
                    if word % 8 == 7 { "\n" } else { " " }
                ));
            }
            let header = format!(
                "Message-ID: <{number}-{}@flood.example>\nFrom: words@flood.example\nTo: help+abc1@acme.example\n",
                self.from
            );
            number += 1;
            if self
                .mail(smtp, "words@flood.example", "help+abc1@acme.example", &format!("{header}\n{text}"))
                .await
            {
                self.hits.words.fetch_add(1, Ordering::Relaxed);
            }
            self.pause(Duration::from_millis(200)).await;
        }
    }

    /// Mail with twenty signatures whose keys are on a name server that never answers.
    async fn signatures_of_a_mail(self, smtp: SocketAddr) {
        let mut number = 0;
        while self.goes_on() {
            let signatures: String = (0..20)
                .map(|n| {
                    format!(
                        "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=slow.example; s=s{n}x{number}; h=from; \
                         bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=AAAA\n"
                    )
                })
                .collect();
            let mail = format!(
                "{signatures}Message-ID: <{number}-{}@slow.example>\nFrom: a@slow.example\n\nHello\n",
                self.from
            );
            number += 1;
            let one = async || self.mail(smtp, "a@slow.example", "help@acme.example", &mail).await;
            // Several at once: each waits for its name server.
            let sent = futures::future::join_all((0..4).map(|_| one())).await;
            let sent = sent.into_iter().filter(|taken| *taken).count();
            self.hits.signed.fetch_add(sent as u64, Ordering::Relaxed);
            self.pause(Duration::from_millis(100)).await;
        }
    }

    /// True when the door listened to the whole mail, whatever it said to it.
    async fn mail(&self, smtp: SocketAddr, from: &str, to: &str, raw: &str) -> bool {
        let Some(stream) = self.connect(smtp).await else { return false };
        let sent = async {
            let (mut client, greeting) = Client::over(stream).await;
            if greeting.code != 220 || client.say("EHLO flood.example").await.code != 250 {
                return false;
            }
            client.mail(from, to, raw).await.code != 0
        };
        tokio::time::timeout(Duration::from_secs(25), sent).await.unwrap_or(false)
    }

    /// 256 KB and as many signatures as the door will hear.
    async fn signatures_of_a_hook(self, http: SocketAddr, path: String) {
        let body = vec![b'x'; 256 << 10];
        let one = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= ";
        while self.goes_on() {
            for many in [5, 100, 5_000] {
                let seconds = Clock::system().now().timestamp();
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: localhost\r\nwebhook-id: x\r\nwebhook-timestamp: {seconds}\r\n\
                     webhook-signature: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    one.repeat(many),
                    body.len()
                );
                if self.request(http, head.as_bytes(), &body).await {
                    self.hits.hooks.fetch_add(1, Ordering::Relaxed);
                }
            }
            self.pause(Duration::from_millis(100)).await;
        }
    }

    /// Five at once, each with 16 MB behind a key that nobody made.
    async fn bodies_behind_a_made_up_key(self, http: SocketAddr) {
        let body = vec![b' '; 16 << 20];
        let head = format!(
            "POST /api/v1/sandbox/inbound HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer rk_live_{}\r\n\
             Content-Length: {}\r\n\r\n",
            "a".repeat(48),
            body.len()
        );
        while self.goes_on() {
            let one = async || self.request(http, head.as_bytes(), &body).await;
            let sent = futures::future::join_all((0..5).map(|_| one())).await;
            let sent = sent.into_iter().filter(|heard| *heard).count();
            self.hits.bodies.fetch_add(sent as u64, Ordering::Relaxed);
            self.pause(Duration::from_millis(100)).await;
        }
    }

    /// True when there was an answer of any kind.
    async fn request(&self, http: SocketAddr, head: &[u8], body: &[u8]) -> bool {
        let Some(stream) = self.connect(http).await else { return false };
        let (mut reading, mut writing) = stream.into_split();
        let write = async {
            let _ = writing.write_all(head).await;
            let _ = writing.write_all(body).await;
            std::future::pending::<()>().await;
        };
        let mut first = [0; 1];
        let answered = tokio::select! {
            read = reading.read(&mut first) => read.is_ok_and(|length| length > 0),
            () = write => false,
            () = tokio::time::sleep(Duration::from_secs(10)) => false,
        };
        answered
    }
}

fn is_closed(stream: &TcpStream) -> bool {
    let mut buffer = [0; 512];
    match stream.try_read(&mut buffer) {
        Ok(length) => length == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

async fn hear(stream: &mut TcpStream) -> Option<()> {
    let mut buffer = [0; 512];
    let read = stream.read(&mut buffer).await.ok()?;
    (read > 0 && matches!(buffer[0], b'2' | b'3')).then_some(())
}

/// What honest people were told.
#[derive(Default)]
struct Honest {
    subjects: std::sync::Mutex<BTreeSet<String>>,
    mails: AtomicU64,
}

impl Honest {
    fn acknowledged(&self) -> BTreeSet<String> {
        self.subjects.lock().unwrap().clone()
    }
}

#[derive(Default)]
struct Figures {
    requests: Vec<Duration>,
    mails: Vec<Duration>,
    failed: Vec<String>,
}

impl Figures {
    fn p99(&self) -> Duration {
        percentile(&self.requests, 99).max(percentile(&self.mails, 99))
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, times) in [("requests", &self.requests), ("mails", &self.mails)] {
            let [middle, most, longest] = [50, 99, 100].map(|percent| percentile(times, percent));
            write!(f, "{} {name}: p50 {middle:.1?} p99 {most:.1?} longest {longest:.1?}; ", times.len())?;
        }
        write!(f, "{} failed", self.failed.len())
    }
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get((times.len() * percent / 100).min(last)).copied().unwrap_or_default()
}

/// Honest people for a while: lists, reads and searches, and mail from addresses of their own.
async fn served(
    site: &Site,
    node: &Node,
    smtp: SocketAddr,
    keys: &[String],
    honest: &Honest,
    time: Duration,
) -> Figures {
    let ends = Instant::now() + time;
    let requests = async {
        let (mut times, mut failed) = (Vec::new(), Vec::new());
        let paths = ["/conversations", "/conversations?q=parcel", "/me", "/mailboxes", "/tags"];
        for number in 0.. {
            if Instant::now() > ends {
                break;
            }
            let (path, key) = (paths[number % paths.len()], &keys[number % keys.len()]);
            let request = site.http.get(format!("{}/api/v1{path}", node.address)).bearer_auth(key);
            let began = Instant::now();
            match tokio::time::timeout(PATIENCE, Reply::try_of(request)).await {
                Ok(Ok(reply)) if reply.status == 200 => times.push(began.elapsed()),
                Ok(Ok(reply)) => failed.push(format!("{path}: {} {}", reply.status, reply.text)),
                Ok(Err(error)) => failed.push(format!("{path}: {error}")),
                Err(_) => failed.push(format!("{path}: no answer")),
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        (times, failed)
    };
    let mails = async {
        let (mut times, mut failed) = (Vec::new(), Vec::new());
        while Instant::now() < ends {
            let number = honest.mails.fetch_add(1, Ordering::Relaxed);
            let subject = format!("parcel{number}x");
            let from = IpAddr::V4(Ipv4Addr::new(127, 2, 0, 1 + (number % 50) as u8));
            let began = Instant::now();
            match tokio::time::timeout(PATIENCE, one_mail(smtp, from, &subject)).await {
                Ok(Ok(())) => {
                    times.push(began.elapsed());
                    honest.subjects.lock().unwrap().insert(subject);
                }
                Ok(Err(answer)) => failed.push(format!("{subject}: {answer}")),
                Err(_) => failed.push(format!("{subject}: no answer")),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        (times, failed)
    };
    let ((requests, mut failed), (mails, lost)) = futures::join!(requests, mails);
    failed.extend(lost);
    Figures { requests, mails, failed }
}

async fn one_mail(smtp: SocketAddr, from: IpAddr, subject: &str) -> Result<(), String> {
    let socket = TcpSocket::new_v4().map_err(|error| error.to_string())?;
    socket.bind(SocketAddr::new(from, 0)).map_err(|error| error.to_string())?;
    let stream = socket.connect(smtp).await.map_err(|error| error.to_string())?;
    let (mut client, greeting) = Client::over(stream).await;
    if greeting.code != 220 || client.say("EHLO honest.example").await.code != 250 {
        return Err(greeting.text);
    }
    let sender = format!("{subject}@honest.example");
    let raw = format!(
        "Message-ID: <{subject}@honest.example>\nFrom: {sender}\nTo: quiet@acme.example\nSubject: {subject}\n\n\
         Where is my parcel?\n"
    );
    let answer = client.mail(&sender, "quiet@acme.example", &raw).await;
    if answer.code == 250 { Ok(()) } else { Err(answer.text) }
}

/// Descriptors that the process holds.
fn connections(node: &Node) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", node.id())).map_or(0, Iterator::count)
}

/// The most memory it ever held.
fn peak_megabytes(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells the peak");
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
