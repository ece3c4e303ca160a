//! The floods: each is a row of `FLOODS` and a function that goes on until all are over. To add one, add both; the test
//! then asks that it came through to the door.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use rookery_base::clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::honest::form;
use rookery_world::mail::client::Client;
use rookery_world::pages::customer::letter_of_one_part;
use rookery_world::programs::mcp::NEW;

type Flooding = fn(Flood) -> BoxFuture<'static, ()>;

/// The name of a flood, how many of the attackers do it, and how.
pub const FLOODS: &[(&str, u8, Flooding)] = &[
    ("half heads", 20, |flood| Box::pin(flood.half_heads())),
    ("slow mail", 20, |flood| Box::pin(flood.slow_mail())),
    ("mail of many words", 5, |flood| Box::pin(flood.words())),
    ("hooks", 5, |flood| Box::pin(flood.signatures_of_a_hook())),
    ("bodies", 5, |flood| Box::pin(flood.bodies_behind_a_made_up_key())),
    ("signed mail", 5, |flood| Box::pin(flood.signatures_of_a_mail())),
    ("slow bodies", 12, |flood| Box::pin(flood.slow_bodies())),
    ("slow bodies of a tenant", 2, |flood| Box::pin(flood.slow_bodies_of_a_tenant())),
    ("slow bodies of one /48", 3, |flood| Box::pin(flood.slow_bodies_of_one_site())),
    ("questions about a locked conversation", 3, |flood| Box::pin(flood.questions())),
    ("calls that wait", 2, |flood| Box::pin(flood.calls_that_wait())),
    ("files that take their time", 3, |flood| Box::pin(flood.files_that_take_their_time())),
    ("codes", 4, |flood| Box::pin(flood.codes())),
];

/// What is flooded.
pub struct Target {
    pub http: SocketAddr,
    pub smtp: SocketAddr,
    /// The path of a real hook.
    pub hook: String,
    /// Of the tenant that floods its neighbours: its keys, where its feed of events ends, and items of its private pages.
    pub keys: Vec<String>,
    pub newest: String,
    /// Of a third tenant: its key, and a conversation of it that is locked all the time.
    pub asking_key: String,
    pub locked: String,
    pub items: Vec<String>,
    /// Of a booking page: a time that it offers.
    pub free_time: String,
}

/// How many requests of each flood came through to the door.
#[derive(Default)]
pub struct Hits(Mutex<BTreeMap<&'static str, u64>>);

impl Hits {
    pub fn all(&self) -> bool {
        let hits = self.0.lock().unwrap();
        FLOODS.iter().all(|(name, ..)| hits.contains_key(name))
    }
}

impl std::fmt::Display for Hits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hits = self.0.lock().unwrap();
        let each: Vec<String> = hits.iter().map(|(name, count)| format!("{count} {name}")).collect();
        f.write_str(&each.join(", "))
    }
}

/// One flood from one attacker's address.
#[derive(Clone)]
pub struct Flood {
    pub name: &'static str,
    pub number: u8,
    pub from: IpAddr,
    pub target: Arc<Target>,
    pub over: Arc<AtomicBool>,
    pub hits: Arc<Hits>,
}

impl Flood {
    pub(super) fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    pub(super) fn hit(&self, times: u64) {
        if times > 0 {
            *self.hits.0.lock().unwrap().entry(self.name).or_default() += times;
        }
    }

    async fn connect(&self, to: SocketAddr) -> Option<TcpStream> {
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind(SocketAddr::new(self.from, 0)).ok()?;
        tokio::time::timeout(Duration::from_secs(5), socket.connect(to)).await.ok()?.ok()
    }

    pub(super) async fn pause(&self, time: Duration) {
        let ends = Instant::now() + time;
        while self.goes_on() && Instant::now() < ends {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// So many connections that each send a head and nothing more for a while; what is closed is opened again.
    async fn owing(self, many: usize, head: &str) {
        let mut held: Vec<(TcpStream, Instant)> = Vec::new();
        while self.goes_on() {
            held.retain(|(stream, since)| !is_closed(stream) && since.elapsed() < Duration::from_secs(9));
            for _ in held.len()..many {
                let Some(mut stream) = self.connect(self.target.http).await else { break };
                if stream.write_all(head.as_bytes()).await.is_ok() {
                    self.hit(1);
                    held.push((stream, Instant::now()));
                }
            }
            self.pause(Duration::from_millis(200)).await;
        }
    }

    /// Strangers who ask for tokens and to sign in, and do not say for what.
    async fn slow_bodies(self) {
        let path = ["/oauth/token", "/sign-in"][usize::from(self.number % 2)];
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: 16384\r\n\r\n"
        );
        self.owing(86, &head).await;
    }

    /// As many as a node has places for, each of a network of its own, all of one /48.
    async fn slow_bodies_of_one_site(self) {
        let head = |number: u32| {
            format!(
                "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 2001:db8:48:{:x}::1\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 16384\r\n\r\n",
                u32::from(self.number) * 1000 + number
            )
        };
        let (mut held, mut number) = (Vec::new(), 0);
        while self.goes_on() {
            held.retain(|stream| !is_closed(stream));
            for _ in held.len()..300 {
                let Some(mut stream) = self.connect(self.target.http).await else { break };
                number = (number + 1) % 1000;
                if stream.write_all(head(number).as_bytes()).await.is_ok() {
                    self.hit(1);
                    held.push(stream);
                }
            }
            self.pause(Duration::from_millis(200)).await;
        }
    }

    /// Twenty at once of a program that can ask its person: each tries a reply to a conversation that is locked.
    async fn questions(self) {
        let Target { asking_key, locked, .. } = &*self.target;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"reply",
            "arguments":{{"id":"{locked}","body":"x","send":true}},"_meta":{{
            "io.modelcontextprotocol/protocolVersion":"{NEW}",
            "io.modelcontextprotocol/clientInfo":{{"name":"t","version":"1"}},
            "io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}}}"#
        );
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {asking_key}\r\n\
             mcp-protocol-version: {NEW}\r\nmcp-method: tools/call\r\nmcp-name: reply\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        while self.goes_on() {
            let one = async || self.request(head.as_bytes(), body.as_bytes()).await;
            let sent = futures::future::join_all((0..20).map(|_| one())).await;
            self.hit(sent.into_iter().filter(|heard| *heard).count() as u64);
            self.pause(Duration::from_millis(200)).await;
        }
    }

    async fn slow_bodies_of_a_tenant(self) {
        let key = self.target.keys[usize::from(self.number) % self.target.keys.len()].clone();
        let head = format!(
            "POST /api/v1/sandbox/inbound HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
        );
        self.owing(100, &head).await;
    }

    async fn calls_that_wait(self) {
        let key = self.target.keys[usize::from(self.number) % self.target.keys.len()].clone();
        let head = format!(
            "GET /api/v1/events?wait=15&after={} HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {key}\r\nConnection: close\r\n\r\n",
            self.target.newest
        );
        self.owing(150, &head).await;
    }

    /// Three at once by one link: a letter that is meant to hold a seat for ten seconds.
    async fn files_that_take_their_time(self) {
        let item = &self.target.items[usize::from(self.number) % self.target.items.len()];
        let body = form("letter.docx", &letter_of_one_part());
        let head = format!(
            "POST {item} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=edge\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        while self.goes_on() {
            let one = async || self.request(head.as_bytes(), &body).await;
            let sent = futures::future::join_all((0..3).map(|_| one())).await;
            self.hit(sent.into_iter().filter(|heard| *heard).count() as u64);
            self.pause(Duration::from_millis(500)).await;
        }
    }

    /// Fifty connections that each begin a request and never end it; what is closed is opened again.
    async fn half_heads(self) {
        let mut held: Vec<TcpStream> = Vec::new();
        while self.goes_on() {
            held.retain(|stream| !is_closed(stream));
            while held.len() < 50 && self.goes_on() {
                let Some(mut stream) = self.connect(self.target.http).await else { break };
                if stream.write_all(b"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX-A: ").await.is_ok() {
                    self.hit(1);
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
    async fn slow_mail(self) {
        let mut held: Vec<TcpStream> = Vec::new();
        while self.goes_on() {
            held.retain(|stream| !is_closed(stream));
            while held.len() < 50 && self.goes_on() {
                let Some(mut stream) = self.connect(self.target.smtp).await else { break };
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
                self.hit(1);
                held.push(stream);
            }
            for stream in &mut held {
                let _ = stream.write_all(b"a").await;
            }
            self.pause(Duration::from_millis(500)).await;
        }
    }

    /// Mail with thousands of words that nobody has, all to one address of the sender's choice.
    async fn words(self) {
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
            if self.mail("words@flood.example", "help+abc1@acme.example", &format!("{header}\n{text}")).await
            {
                self.hit(1);
            }
            self.pause(Duration::from_millis(200)).await;
        }
    }

    /// Mail with twenty signatures whose keys are on a name server that never answers.
    async fn signatures_of_a_mail(self) {
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
            let one = async || self.mail("a@slow.example", "help@acme.example", &mail).await;
            // Several at once: each waits for its name server.
            let sent = futures::future::join_all((0..4).map(|_| one())).await;
            let sent = sent.into_iter().filter(|taken| *taken).count();
            self.hit(sent as u64);
            self.pause(Duration::from_millis(100)).await;
        }
    }

    /// True when the door listened to the whole mail, whatever it said to it.
    async fn mail(&self, from: &str, to: &str, raw: &str) -> bool {
        let Some(stream) = self.connect(self.target.smtp).await else { return false };
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
    async fn signatures_of_a_hook(self) {
        let body = vec![b'x'; 256 << 10];
        let one = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= ";
        while self.goes_on() {
            for many in [5, 100, 5_000] {
                let seconds = Clock::system().now().timestamp();
                let head = format!(
                    "POST {} HTTP/1.1\r\nHost: localhost\r\nwebhook-id: x\r\nwebhook-timestamp: {seconds}\r\n\
                     webhook-signature: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    self.target.hook,
                    one.repeat(many),
                    body.len()
                );
                if self.request(head.as_bytes(), &body).await {
                    self.hit(1);
                }
            }
            self.pause(Duration::from_millis(100)).await;
        }
    }

    /// Five at once, each with 16 MB behind a key that nobody made.
    async fn bodies_behind_a_made_up_key(self) {
        let body = vec![b' '; 16 << 20];
        let head = format!(
            "POST /api/v1/sandbox/inbound HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer rk_live_{}\r\n\
             Content-Length: {}\r\n\r\n",
            "a".repeat(48),
            body.len()
        );
        while self.goes_on() {
            let one = async || self.request(head.as_bytes(), &body).await;
            let sent = futures::future::join_all((0..5).map(|_| one())).await;
            let sent = sent.into_iter().filter(|heard| *heard).count();
            self.hit(sent as u64);
            self.pause(Duration::from_millis(100)).await;
        }
    }

    /// True when there was an answer of any kind.
    pub(super) async fn request(&self, head: &[u8], body: &[u8]) -> bool {
        let Some(stream) = self.connect(self.target.http).await else { return false };
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
