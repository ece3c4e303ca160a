//! Honest people under floods: they list, read and search, write mail, hand in a file and ask for a token. What they were
//! told, and how long it took.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use rookery_world::Reply;
use rookery_world::mail::client::Client;
use rookery_world::pages::customer::pdf;
use rookery_world::site::{Node, Site};

/// What an item of a private page takes.
const FILES_OF_ITEM: u64 = 10;
/// When one is given up.
const PATIENCE: Duration = Duration::from_secs(25);

/// What honest people were told.
#[derive(Default)]
pub struct Honest {
    subjects: std::sync::Mutex<BTreeSet<String>>,
    mails: AtomicU64,
    files: AtomicU64,
}

impl Honest {
    pub fn acknowledged(&self) -> BTreeSet<String> {
        self.subjects.lock().unwrap().clone()
    }
}

#[derive(Default)]
pub struct Figures {
    requests: Vec<Duration>,
    mails: Vec<Duration>,
    pub failed: Vec<String>,
}

impl Figures {
    fn and(mut self, more: Figures) -> Self {
        self.requests.extend(more.requests);
        self.mails.extend(more.mails);
        self.failed.extend(more.failed);
        self
    }

    pub fn p99(&self) -> Duration {
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

/// Who they are: keys of two tenants, and the item of a private page.
pub struct People {
    pub keys: Vec<String>,
    pub item: String,
}

/// A form with one file, as a browser sends it.
pub fn form(name: &str, file: &[u8]) -> Vec<u8> {
    let head =
        format!("--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
    [head.as_bytes(), file, b"\r\n--edge--\r\n"].concat()
}

/// Honest people for a while.
pub async fn served(
    site: &Site,
    node: &Node,
    smtp: SocketAddr,
    people: &People,
    honest: &Honest,
    time: Duration,
) -> Figures {
    let ends = Instant::now() + time;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let asked = async |name: &str, wanted: u16, request: reqwest::RequestBuilder, figures: &mut Figures| {
        let began = Instant::now();
        match tokio::time::timeout(PATIENCE, Reply::try_of(request)).await {
            Ok(Ok(reply)) if reply.status == wanted => figures.requests.push(began.elapsed()),
            Ok(Ok(reply)) => figures.failed.push(format!("{name}: {} {}", reply.status, reply.text)),
            Ok(Err(error)) => figures.failed.push(format!("{name}: {error}")),
            Err(_) => figures.failed.push(format!("{name}: no answer")),
        }
    };
    let requests = async {
        let mut figures = Figures::default();
        let paths = ["/conversations", "/conversations?q=parcel", "/me", "/mailboxes", "/tags"];
        for number in 0.. {
            if Instant::now() > ends {
                break;
            }
            let (path, tenant) = (paths[number % paths.len()], number % people.keys.len());
            let request = site.http.get(format!("{}/api/v1{path}", node.address));
            let request = request.bearer_auth(&people.keys[tenant]);
            asked(&format!("{path} by tenant {tenant}"), 200, request, &mut figures).await;
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        figures
    };
    // On a connection of its own each time: a customer's file, and a client that has no token.
    let strangers = async {
        let mut figures = Figures::default();
        while Instant::now() < ends {
            let number = honest.files.fetch_add(1, Ordering::Relaxed);
            let file = form("letter.pdf", &pdf(&format!("letter {number}")));
            let request = http.post(format!("{}{}", node.address, people.item));
            let request = request.header("content-type", "multipart/form-data; boundary=edge");
            // An item takes so many files, and then says so.
            let wanted = if number < FILES_OF_ITEM { 303 } else { 422 };
            asked("a file", wanted, request.header("connection", "close").body(file), &mut figures).await;
            let body = "grant_type=refresh_token&client_id=none&refresh_token=none";
            let request = http.post(format!("{}/oauth/token", node.address)).body(body);
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            asked("a token", 400, request.header("connection", "close"), &mut figures).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        figures
    };
    let mails = async {
        let mut figures = Figures::default();
        while Instant::now() < ends {
            let number = honest.mails.fetch_add(1, Ordering::Relaxed);
            let subject = format!("parcel{number}x");
            let from = IpAddr::V4(Ipv4Addr::new(127, 2, 0, 1 + (number % 50) as u8));
            let began = Instant::now();
            match tokio::time::timeout(PATIENCE, one_mail(smtp, from, &subject)).await {
                Ok(Ok(())) => {
                    figures.mails.push(began.elapsed());
                    honest.subjects.lock().unwrap().insert(subject);
                }
                Ok(Err(answer)) => figures.failed.push(format!("{subject}: {answer}")),
                Err(_) => figures.failed.push(format!("{subject}: no answer")),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        figures
    };
    let (requests, strangers, mails) = futures::join!(requests, strangers, mails);
    requests.and(strangers).and(mails)
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
