//! Mail for a cell that other nodes serve is passed on to one of them by LMTP, with what is known of its sender. The answer
//! is theirs: a 250 is said here after their commit.
//!
//! It is passed on once. Whoever gets such mail and does not serve the cell either, asks the sender to try again. So does
//! whoever finds that too much waits for the same cell: a node that hangs keeps no mail of others waiting.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::origin::{FLEET, MailOrigin};

/// How long another node may take in all, storing included, to answer the telephone and greet, and for a command.
const PATIENCE: Duration = Duration::from_secs(60);
const GREETING: Duration = Duration::from_secs(5);
const COMMAND: Duration = Duration::from_secs(10);
/// How much mail may be on its way to one cell. A mail takes some milliseconds.
const AT_ONCE: usize = 32;

/// How long nobody tries a cell again that could not be talked to.
const PAUSE: Duration = Duration::from_secs(10);

/// Mail that is on its way, by cell.
#[derive(Default)]
pub struct OnTheWay(Mutex<HashMap<String, CellLoad>>);

#[derive(Default)]
struct CellLoad {
    mails: usize,
    failed: Option<Instant>,
}

/// One of them, until it is dropped.
pub struct PassOnSeat<'a> {
    all: &'a OnTheWay,
    cell: &'a str,
}

impl OnTheWay {
    /// Nothing when too much waits for the cell, or when it has just failed.
    pub fn begin<'a>(&'a self, cell: &'a str) -> Option<PassOnSeat<'a>> {
        self.begin_at(cell, Instant::now())
    }

    fn begin_at<'a>(&'a self, cell: &'a str, now: Instant) -> Option<PassOnSeat<'a>> {
        let mut cells = self.cells();
        let state = cells.entry(cell.to_owned()).or_default();
        if state.mails >= AT_ONCE || state.failed.is_some_and(|since| now.duration_since(since) < PAUSE) {
            return None;
        }
        state.mails += 1;
        Some(PassOnSeat { all: self, cell })
    }

    fn cells(&self) -> MutexGuard<'_, HashMap<String, CellLoad>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PassOnSeat<'_> {
    /// The cell said nothing.
    pub fn failed(&self) {
        self.all.cells().entry(self.cell.to_owned()).or_default().failed = Some(Instant::now());
    }
}

impl Drop for PassOnSeat<'_> {
    fn drop(&mut self) {
        self.all.cells().entry(self.cell.to_owned()).or_default().mails -= 1;
    }
}
/// Longest line of an answer.
const MOST_LINE: u64 = 4096;

pub struct Passed<'a> {
    pub name: &'a str,
    pub origin: &'a MailOrigin,
    pub from: &'a str,
    pub to: &'a str,
    pub raw: &'a [u8],
}

impl Passed<'_> {
    /// What the node at this address answers. One that cannot be talked to is left alone for a while; that storing this very mail
    /// fails says nothing of others.
    pub async fn to(&self, address: &str, seat: &PassOnSeat<'_>) -> io::Result<String> {
        let ends = Instant::now() + PATIENCE;
        let begun =
            timeout_at(ends, self.begin(address)).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()));
        match begun {
            Ok(Begun::Refused(answer)) => Ok(answer),
            Ok(Begun::Waits(line)) => timeout_at(ends, line.give(self.raw)).await?,
            Err(error) => {
                seat.failed();
                Err(error)
            }
        }
    }

    async fn begin(&self, address: &str) -> io::Result<Begun> {
        let greeted = async {
            let mut line = LmtpConnection(BufReader::new(TcpStream::connect(address).await?));
            line.answer().await?;
            Ok::<_, io::Error>(line)
        };
        let mut line = timeout(GREETING, greeted).await??;
        let Self { name, from, to, .. } = self;
        line.ask(&format!("LHLO {name}\r\n")).await?;
        let origin = self.origin.address.map_or("[UNAVAILABLE]".to_owned(), |address| address.to_string());
        // A name with a space would be another attribute.
        let helo = self
            .origin
            .helo
            .as_deref()
            .filter(|helo| !helo.contains(|c: char| c.is_whitespace() || c == '='));
        let helo = helo.unwrap_or("[UNAVAILABLE]");
        line.ask(&format!("XFORWARD ADDR={origin} HELO={helo} SOURCE={FLEET}\r\n")).await?;
        for command in [format!("MAIL FROM:<{from}>\r\n"), format!("RCPT TO:<{to}>\r\n")] {
            let answer = line.ask(&command).await?;
            if !answer.starts_with('2') {
                return Ok(Begun::Refused(answer));
            }
        }
        let answer = line.ask("DATA\r\n").await?;
        Ok(if answer.starts_with('3') { Begun::Waits(line) } else { Begun::Refused(answer) })
    }
}

/// How far it came before the mail itself.
enum Begun {
    Refused(String),
    /// The other node waits for the mail.
    Waits(LmtpConnection),
}

struct LmtpConnection(BufReader<TcpStream>);

impl LmtpConnection {
    async fn give(mut self, raw: &[u8]) -> io::Result<String> {
        self.0.get_mut().write_all(&stuffed(raw)).await?;
        let answer = self.answer().await?;
        // It is said, so it holds, whatever becomes of the goodbye.
        let _ = self.0.get_mut().write_all(b"QUIT\r\n").await;
        Ok(answer)
    }

    async fn ask(&mut self, command: &str) -> io::Result<String> {
        let asked = async {
            self.0.get_mut().write_all(command.as_bytes()).await?;
            self.answer().await
        };
        timeout(COMMAND, asked).await?
    }

    /// The last line of an answer.
    async fn answer(&mut self) -> io::Result<String> {
        loop {
            let mut read = Vec::new();
            tokio::io::AsyncReadExt::take(&mut self.0, MOST_LINE).read_until(b'\n', &mut read).await?;
            let text = String::from_utf8_lossy(&read).trim_end().to_owned();
            let is_code = text.len() >= 3 && text.as_bytes()[..3].iter().all(u8::is_ascii_digit);
            match text.as_bytes().get(3) {
                _ if !is_code || read.last() != Some(&b'\n') => return Err(io::ErrorKind::InvalidData.into()),
                Some(b'-') => {}
                _ => return Ok(text),
            }
        }
    }
}

/// With its dots doubled and its end.
fn stuffed(raw: &[u8]) -> Vec<u8> {
    let mut stuffed = Vec::with_capacity(raw.len() + raw.len() / 64 + 5);
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".") {
            stuffed.push(b'.');
        }
        stuffed.extend_from_slice(line);
    }
    if !stuffed.ends_with(b"\r\n") {
        stuffed.extend_from_slice(b"\r\n");
    }
    stuffed.extend_from_slice(b".\r\n");
    stuffed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_hangs_has_a_few_seats_and_is_left_alone_for_a_while() {
        let all = OnTheWay::default();
        let seats: Vec<_> = (0..AT_ONCE).map(|_| all.begin("west").expect("a seat")).collect();
        assert!(all.begin("west").is_none() && all.begin("east").is_some());
        seats[0].failed();
        drop(seats);
        assert!(all.begin("west").is_none(), "nobody waits for it again at once");
        assert!(all.begin_at("west", Instant::now() + PAUSE).is_some());
    }

    /// Somebody's mail may break a node that stores it, again and again: others' mail goes on.
    #[tokio::test]
    async fn a_mail_that_ends_the_connection_stops_no_other_and_a_closed_door_does() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let node = tokio::spawn(async move {
            let mut line = LmtpConnection(BufReader::new(listener.accept().await.unwrap().0));
            for answer in ["220 hi", "250 a", "250 b", "250 c", "250 d", "354 go"] {
                line.0.get_mut().write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
                let mut command = String::new();
                line.0.read_line(&mut command).await.unwrap();
            }
        });
        let peer = "192.0.2.7".parse().unwrap();
        let origin = MailOrigin {
            address: None,
            peer,
            helo: None,
            extended: true,
            encrypted: false,
            passed_on: false,
        };
        let all = OnTheWay::default();
        let passed =
            Passed { name: "mx", origin: &origin, from: "a@x.example", to: "b@y.example", raw: b"Hi\r\n" };
        let seat = all.begin("west").unwrap();
        assert!(passed.to(&address, &seat).await.is_err());
        node.await.unwrap();
        assert!(all.begin("west").is_some());
        // By now nobody listens there.
        assert!(passed.to(&address, &seat).await.is_err());
        assert!(all.begin("west").is_none());
    }

    #[test]
    fn lines_that_begin_with_a_dot_have_two_and_the_end_has_one() {
        assert_eq!(stuffed(b"a\r\n.b\r\n..c\r\n"), b"a\r\n..b\r\n...c\r\n.\r\n");
        assert_eq!(stuffed(b"a"), b"a\r\n.\r\n");
        assert_eq!(stuffed(b".\r\n"), b"..\r\n.\r\n");
    }
}
