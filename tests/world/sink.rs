//! An SMTP server for tests: it records the mail it gets and misbehaves on demand. A mail counts as received when
//! its final dot has come, whether or not the client hears of it.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A moment of a transaction, before the sink answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Greeting,
    Hello,
    Encryption,
    Password,
    Sender,
    Recipient,
    Data,
    Dot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Answers this instead.
    Says(&'static str),
    /// Says nothing until the other side has gone.
    Hangs,
    /// Closes the connection.
    Drops,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Which sink, when several share a ledger.
    pub sink: usize,
    pub at: Instant,
    pub from: String,
    pub to: String,
    pub raw: String,
}

impl Taken {
    /// A header field's value, unfolded.
    pub fn field(&self, name: &str) -> Option<String> {
        let header = self.raw.split("\r\n\r\n").next()?.replace("\r\n ", " ").replace("\r\n\t", " ");
        let value = header.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.map(|value| value.trim().to_owned())
    }
}

pub type Ledger = Arc<Mutex<Vec<Taken>>>;

#[derive(Default)]
struct State {
    does: Option<(Step, Does)>,
    connections: usize,
    /// Connections up to this number are closed at their next command.
    ended: usize,
    /// How many clients have hung since the sink was told to hang.
    hung: usize,
    passwords: Vec<String>,
    /// What it takes to say that a mail was taken.
    takes: Duration,
    /// Offers STARTTLS with this certificate.
    tls: Option<TlsAcceptor>,
    encrypted: usize,
}

pub struct Sink {
    pub port: u16,
    pub ledger: Ledger,
    number: usize,
    state: Arc<Mutex<State>>,
}

impl Sink {
    pub async fn start() -> Self {
        Self::numbered(0, Ledger::default()).await
    }

    pub async fn numbered(number: usize, ledger: Ledger) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state: Arc<Mutex<State>> = Arc::default();
        let sink = Self { port, ledger, number, state };
        let session = Session { ledger: sink.ledger.clone(), number: sink.number, state: sink.state.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let session = session.clone();
                tokio::spawn(async move { session.run(stream).await });
            }
        });
        sink
    }

    /// Offers STARTTLS from now on, or not any more.
    pub fn encrypts(&self, with: Option<TlsAcceptor>) {
        self.state.lock().unwrap().tls = with;
    }

    /// How many connections were encrypted.
    pub fn encrypted(&self) -> usize {
        self.state.lock().unwrap().encrypted
    }

    pub fn number(&self) -> usize {
        self.number
    }

    /// For the setting `ROOKERY_RELAY`.
    pub fn relay(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    pub fn taken(&self) -> Vec<Taken> {
        self.ledger.lock().unwrap().clone()
    }

    pub fn does(&self, step: Step, does: Does) {
        let mut state = self.state.lock().unwrap();
        state.does = Some((step, does));
        state.hung = 0;
    }

    /// From now on each mail takes so long.
    pub fn takes(&self, time: Duration) {
        self.state.lock().unwrap().takes = time;
    }

    pub fn behaves(&self) {
        self.state.lock().unwrap().does = None;
    }

    /// Ends the connections that senders have kept.
    pub fn hangs_up(&self) {
        let mut state = self.state.lock().unwrap();
        state.ended = state.connections;
    }

    pub fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    /// What was said to AUTH PLAIN, decoded.
    pub fn passwords(&self) -> Vec<String> {
        self.state.lock().unwrap().passwords.clone()
    }

    /// Waits until a sender hangs where the sink was told to hang; false when none comes.
    pub async fn hangs(&self, patience: Duration) -> bool {
        let started = Instant::now();
        while self.state.lock().unwrap().hung == 0 {
            if started.elapsed() > patience {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        true
    }
}

#[derive(Clone)]
struct Session {
    ledger: Ledger,
    number: usize,
    state: Arc<Mutex<State>>,
}

impl Session {
    async fn run(&self, stream: TcpStream) {
        let number = {
            let mut state = self.state.lock().unwrap();
            state.connections += 1;
            state.connections
        };
        // A sender that goes away ends its session.
        let mut stream = BufReader::new(stream);
        if self.answer(&mut stream, Step::Greeting, "220 sink.example ESMTP").await.is_err() {
            return;
        }
        let tls = self.state.lock().unwrap().tls.clone();
        if let Ok(true) = self.talk(&mut stream, number, tls.is_some()).await
            && let Some(tls) = tls
            && let Ok(stream) = tls.accept(stream.into_inner()).await
        {
            self.state.lock().unwrap().encrypted += 1;
            let _ = self.talk(&mut BufReader::new(stream), number, false).await;
        }
    }

    /// True when the sender wants to go on encrypted.
    async fn talk<S>(&self, stream: &mut BufReader<S>, number: usize, offers_tls: bool) -> io::Result<bool>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut from, mut to) = (String::new(), String::new());
        let mut line = String::new();
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 || number <= self.state.lock().unwrap().ended {
                return Ok(false);
            }
            let word = line.trim_end().to_owned();
            let verb = word.split([' ', ':']).next().unwrap_or_default().to_uppercase();
            match verb.as_str() {
                "EHLO" => {
                    let hello = if offers_tls {
                        "250-sink.example\r\n250-STARTTLS\r\n250 8BITMIME"
                    } else {
                        "250-sink.example\r\n250-AUTH PLAIN\r\n250 8BITMIME"
                    };
                    self.answer(stream, Step::Hello, hello).await?;
                }
                "STARTTLS" if offers_tls => {
                    self.answer(stream, Step::Encryption, "220 2.0.0 Go on").await?;
                    return Ok(true);
                }
                "AUTH" => {
                    let given = word.rsplit(' ').next().unwrap_or_default();
                    let given = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, given);
                    let given = String::from_utf8_lossy(&given.unwrap_or_default()).replace('\0', " ");
                    self.state.lock().unwrap().passwords.push(given);
                    self.answer(stream, Step::Password, "235 2.7.0 Welcome").await?;
                }
                "MAIL" => {
                    from = address(&word);
                    self.answer(stream, Step::Sender, "250 2.1.0 Ok").await?;
                }
                "RCPT" => {
                    to = address(&word);
                    self.answer(stream, Step::Recipient, "250 2.1.5 Ok").await?;
                }
                "DATA" => {
                    if !self.answer(stream, Step::Data, "354 Go on").await?.starts_with("354") {
                        continue;
                    }
                    let raw = content(stream).await?;
                    if !self.refuses_content() {
                        let taken = Taken {
                            sink: self.number,
                            at: Instant::now(),
                            from: from.clone(),
                            to: to.clone(),
                            raw,
                        };
                        self.ledger.lock().unwrap().push(taken);
                    }
                    let takes = self.state.lock().unwrap().takes;
                    tokio::time::sleep(takes).await;
                    self.answer(stream, Step::Dot, "250 2.0.0 Queued").await?;
                }
                "QUIT" => {
                    stream.write_all(b"221 Bye\r\n").await?;
                    return Ok(false);
                }
                _ => stream.write_all(b"250 Ok\r\n").await?,
            }
        }
    }

    fn refuses_content(&self) -> bool {
        matches!(self.state.lock().unwrap().does, Some((Step::Dot, Does::Says(_))))
    }

    async fn answer<S>(
        &self,
        stream: &mut BufReader<S>,
        step: Step,
        usual: &'static str,
    ) -> io::Result<&'static str>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let does = self.state.lock().unwrap().does.filter(|(at, _)| *at == step).map(|(_, does)| does);
        let said = match does {
            None => usual,
            Some(Does::Says(said)) => said,
            Some(Does::Drops) => return Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Does::Hangs) => {
                self.state.lock().unwrap().hung += 1;
                stream.read_to_end(&mut Vec::new()).await?;
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        };
        stream.write_all(format!("{said}\r\n").as_bytes()).await?;
        Ok(said)
    }
}

/// What stands between the angle brackets.
fn address(line: &str) -> String {
    let inside = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    inside.map(|(address, _)| address.to_owned()).unwrap_or_default()
}

/// Up to the final dot, with doubled dots undone.
async fn content(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut raw = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line == ".\r\n" {
            return Ok(raw);
        }
        raw.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}
