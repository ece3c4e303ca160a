//! Opens a connection to a mail server up to the first SMTP command: TCP, STARTTLS if wanted, TLS with the
//! required certificate. The connection that was checked is the one that is used.
//!
//! Everything said before TLS is discarded. A server that sends extra bytes there is dropped, because they may be
//! injected by an attacker to be read after the handshake.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lettre::transport::smtp::client::AsyncTokioStream;
use lettre::transport::smtp::extension::ClientId;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::net::dns::Tlsa;
use crate::relay::dane::ByRecords;

/// Longest reply before TLS.
const MOST_ANSWER: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypts {
    Must,
    May,
    Never,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum Closed {
    #[error("network")]
    Network(#[from] io::Error),
    #[error("the relay answers {0}")]
    Says(u16),
    #[error("the relay does not offer TLS")]
    NoTls,
    #[error("the relay sent extra data before TLS")]
    TooMuch,
    #[error("tls: {0}")]
    Tls(io::Error),
    #[error("the TLS requirements of the relay's name are not known")]
    NotKnown,
    #[error("the domain's MTA-STS policy does not name this server")]
    Foreign,
}

/// The target, and our own name.
pub struct SmtpTarget<'a> {
    pub host: &'a str,
    pub port: u16,
    /// Its addresses; the operating system resolves the host when empty.
    pub addresses: &'a [SocketAddr],
    pub hello: &'a ClientId,
    pub roots: &'a Arc<RootCertStore>,
}

impl SmtpTarget<'_> {
    /// `wrapped` means TLS from the first byte. With `records` the certificate must match one of them, else it
    /// must be valid by the roots.
    pub async fn open(
        &self,
        wrapped: bool,
        encrypts: Encrypts,
        records: Option<Vec<Tlsa>>,
    ) -> Result<Box<dyn AsyncTokioStream>, Closed> {
        let mut stream = match self.addresses {
            [] => TcpStream::connect((self.host, self.port)).await?,
            known => TcpStream::connect(known).await?,
        };
        if wrapped {
            return Ok(Box::new(ReplayedGreeting::nothing(self.encrypt(stream, records).await?)));
        }
        if encrypts == Encrypts::Never {
            return Ok(Box::new(stream));
        }
        expect(&mut stream, 220).await?;
        stream.write_all(format!("EHLO {}\r\n", self.hello).as_bytes()).await?;
        let offers = expect(&mut stream, 250).await?;
        let starttls =
            |line: &str| line.get(4..).is_some_and(|word| word.trim().eq_ignore_ascii_case("STARTTLS"));
        match (offers.lines().any(starttls), encrypts) {
            (true, _) => {}
            (false, Encrypts::Must) => return Err(Closed::NoTls),
            (false, _) => return Ok(Box::new(ReplayedGreeting::hello(stream))),
        }
        stream.write_all(b"STARTTLS\r\n").await?;
        expect(&mut stream, 220).await?;
        Ok(Box::new(ReplayedGreeting::hello(self.encrypt(stream, records).await?)))
    }

    async fn encrypt(
        &self,
        stream: TcpStream,
        records: Option<Vec<Tlsa>>,
    ) -> Result<TlsStream<TcpStream>, Closed> {
        let unusable = |error: rustls::Error| Closed::Tls(io::Error::other(error));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let config = match records {
            Some(records) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(ByRecords::new(records, provider)))
                .with_no_client_auth(),
            None => builder.with_root_certificates(self.roots.clone()).with_no_client_auth(),
        };
        let name = ServerName::try_from(self.host.to_owned())
            .map_err(|error| Closed::Tls(io::Error::other(error)))?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(Closed::Tls)
    }
}

/// Reads exactly one reply; extra bytes are an error.
async fn expect(stream: &mut TcpStream, code: u16) -> Result<String, Closed> {
    let mut answer = Vec::new();
    loop {
        let mut some = [0; 1024];
        let read = stream.read(&mut some).await?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        answer.extend_from_slice(&some[..read]);
        if answer.len() > MOST_ANSWER {
            return Err(Closed::TooMuch);
        }
        let text = String::from_utf8_lossy(&answer);
        // The last line has a space after its code, the others a hyphen.
        let ends = text
            .split_inclusive("\r\n")
            .position(|line| line.ends_with("\r\n") && line.get(3..4) != Some("-"));
        let Some(last) = ends else { continue };
        if text.split_inclusive("\r\n").count() > last + 1 {
            return Err(Closed::TooMuch);
        }
        let said = text.get(..3).and_then(|code| code.parse().ok()).unwrap_or_default();
        return if said == code { Ok(text.into_owned()) } else { Err(Closed::Says(said)) };
    }
}

/// A stream that replays a greeting that was already read, because the SMTP client expects one.
struct ReplayedGreeting<S> {
    heard: &'static [u8],
    stream: S,
}

impl<S> ReplayedGreeting<S> {
    fn hello(stream: S) -> Self {
        Self { heard: b"220 \r\n", stream }
    }

    fn nothing(stream: S) -> Self {
        Self { heard: b"", stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReplayedGreeting<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.heard.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, into);
        }
        let (now, later) = self.heard.split_at(self.heard.len().min(into.remaining()));
        into.put_slice(now);
        self.heard = later;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReplayedGreeting<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> fmt::Debug for ReplayedGreeting<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a connection to a mail server")
    }
}

impl AsyncTokioStream for ReplayedGreeting<TcpStream> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncTokioStream for ReplayedGreeting<TlsStream<TcpStream>> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.get_ref().0.peer_addr()
    }
}
