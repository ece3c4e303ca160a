//! Reads and writes one SMTP connection, plain or with TLS. Every read and write has a deadline. A command is one
//! line that ends with CRLF and has no control characters in it.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use rookery_reading::mail::data::Data;

/// RFC 5321 asks for 512; extensions and long addresses need more.
const LONGEST_LINE: usize = 2_048;
const BLOCK: usize = 16 * 1024;
/// How often the deadline is evaluated again while waiting, because it may move nearer meanwhile.
const LOOK: Duration = Duration::from_secs(2);
/// Timeout of the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(30);

pub struct Wire {
    stream: Stream,
    /// Bytes that were read; `taken..` of them are not consumed yet.
    buffer: Vec<u8>,
    taken: usize,
    patience: Duration,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub enum WireLine {
    Command(Vec<u8>),
    /// It does not end with CRLF, or contains control characters.
    Malformed,
    TooLong,
    Closed,
}

impl Wire {
    pub fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream: Stream::Plain(stream), buffer: Vec::new(), taken: 0, patience }
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Whether there is unread input.
    pub fn has_more(&self) -> bool {
        self.taken < self.buffer.len()
    }

    /// The next line including its CRLF. The whole line has to arrive before the deadline.
    pub async fn line(&mut self, until: impl Fn() -> Instant) -> io::Result<WireLine> {
        let mut looked = 0;
        loop {
            let waiting = &self.buffer[self.taken..];
            if let Some(end) = waiting[looked..].iter().position(|b| *b == b'\n') {
                let line = waiting[..=looked + end].to_vec();
                self.taken += line.len();
                let text = line.strip_suffix(b"\r\n");
                let sound = text.is_some_and(|text| !text.iter().any(|b| *b < b' ' && *b != b'\t'));
                return Ok(if line.len() > LONGEST_LINE {
                    WireLine::TooLong
                } else if sound {
                    WireLine::Command(line)
                } else {
                    WireLine::Malformed
                });
            }
            looked = waiting.len();
            if looked > LONGEST_LINE {
                return Ok(WireLine::TooLong);
            }
            if !self.fill(&until).await? {
                return Ok(WireLine::Closed);
            }
        }
    }

    /// Feeds the next bytes to `data`. Gives their number and whether the mail ended; `None` when the client is
    /// gone.
    pub async fn pour(
        &mut self,
        data: &mut Data,
        out: &mut Vec<u8>,
        until: impl Fn() -> Instant,
    ) -> io::Result<Option<(usize, bool)>> {
        if !self.has_more() && !self.fill(&until).await? {
            return Ok(None);
        }
        let bytes = &self.buffer[self.taken..];
        let end = data.feed(bytes, out);
        let length = end.unwrap_or(bytes.len());
        self.taken += length;
        Ok(Some((length, end.is_some())))
    }

    pub async fn say(&mut self, answer: &str) -> io::Result<()> {
        let patience = self.patience;
        let written = async {
            match &mut self.stream {
                Stream::Plain(stream) => stream.write_all(answer.as_bytes()).await,
                Stream::Tls(stream) => {
                    stream.write_all(answer.as_bytes()).await?;
                    stream.flush().await
                }
            }
        };
        timeout(patience, written).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Starts TLS. Input that arrived in the clear is discarded.
    pub async fn encrypt(self, acceptor: TlsAcceptor) -> io::Result<Self> {
        let Stream::Plain(stream) = self.stream else { return Ok(self) };
        let accepted = timeout(self.patience.min(HANDSHAKE), acceptor.accept(stream)).await;
        let stream = accepted.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        Ok(Self {
            stream: Stream::Tls(Box::new(stream)),
            buffer: Vec::new(),
            taken: 0,
            patience: self.patience,
        })
    }

    pub async fn close(mut self) {
        let closing = async {
            match &mut self.stream {
                Stream::Plain(stream) => stream.shutdown().await,
                Stream::Tls(stream) => stream.shutdown().await,
            }
        };
        let _ = timeout(Duration::from_secs(5), closing).await;
    }

    async fn fill(&mut self, until: &impl Fn() -> Instant) -> io::Result<bool> {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.reserve(BLOCK);
        loop {
            let read = async {
                match &mut self.stream {
                    Stream::Plain(stream) => stream.read_buf(&mut self.buffer).await,
                    Stream::Tls(stream) => stream.read_buf(&mut self.buffer).await,
                }
            };
            let now = Instant::now();
            match timeout_at(until().min(now + LOOK), read).await {
                Ok(read) => return Ok(read? > 0),
                Err(_) if Instant::now() >= until() => return Err(io::ErrorKind::TimedOut.into()),
                Err(_) => {}
            }
        }
    }
}
