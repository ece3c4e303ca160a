//! Asks a virus scanner that speaks clamd's protocol about a file: INSTREAM over TCP or a Unix socket. The operator names
//! it (`ROOKERY_CLAMD`). One that is away, slow or says something else is no "clean".

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// For connecting, sending and the answer together.
const PATIENCE: Duration = Duration::from_secs(60);
const PART: usize = 64 << 10;
const MOST_ANSWER: u64 = 4096;

/// Where the scanner listens: `tcp://127.0.0.1:3310` or `unix:///run/clamav/clamd.ctl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clamd {
    Tcp(String),
    Unix(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scanned {
    Clean,
    /// What the scanner calls it.
    Found(String),
    /// Nobody knows; the cause is for the log.
    Away(String),
}

impl Clamd {
    pub async fn scan(&self, file: &[u8]) -> Scanned {
        let asking = async {
            match self {
                Self::Tcp(address) => ask(TcpStream::connect(address).await?, file).await,
                Self::Unix(path) => ask(UnixStream::connect(path).await?, file).await,
            }
        };
        match timeout(PATIENCE, asking).await {
            Ok(Ok(answer)) => read(&answer),
            Ok(Err(error)) => Scanned::Away(error.to_string()),
            Err(_) => Scanned::Away("it did not answer in time".to_owned()),
        }
    }
}

async fn ask(mut scanner: impl AsyncRead + AsyncWrite + Unpin, file: &[u8]) -> std::io::Result<String> {
    let sending = async {
        scanner.write_all(b"zINSTREAM\0").await?;
        for part in file.chunks(PART) {
            scanner.write_all(&(part.len() as u32).to_be_bytes()).await?;
            scanner.write_all(part).await?;
        }
        scanner.write_all(&0_u32.to_be_bytes()).await?;
        scanner.flush().await
    };
    // It may have said why it takes no more.
    let sent = sending.await;
    let mut answer = Vec::new();
    let told = scanner.take(MOST_ANSWER).read_to_end(&mut answer).await;
    if answer.is_empty() {
        sent?;
        told?;
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn read(answer: &str) -> Scanned {
    let answer = answer.trim_end_matches(['\0', '\n']);
    match answer.strip_prefix("stream: ") {
        Some("OK") => Scanned::Clean,
        Some(other) => match other.strip_suffix(" FOUND") {
            Some(name) => Scanned::Found(name.to_owned()),
            None => Scanned::Away(other.to_owned()),
        },
        None if answer.is_empty() => Scanned::Away("it hung up".to_owned()),
        None => Scanned::Away(answer.to_owned()),
    }
}

impl FromStr for Clamd {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let has_port = |address: &str| {
            address
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        match (text.strip_prefix("tcp://"), text.strip_prefix("unix://")) {
            (Some(address), _) if has_port(address) => Ok(Self::Tcp(address.to_owned())),
            (_, Some(path)) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            _ => Err("clamd must be tcp://host:3310 or unix:///run/clamav/clamd.ctl".to_owned()),
        }
    }
}

impl fmt::Display for Clamd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for Clamd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn only_ok_is_clean() {
        assert_eq!(read("stream: OK\0"), Scanned::Clean);
        assert_eq!(
            read("stream: Eicar-Test-Signature FOUND\0"),
            Scanned::Found("Eicar-Test-Signature".into())
        );
        for other in ["", "INSTREAM size limit exceeded. ERROR\0", "stream: OK FOUND ERROR", "OK", "stream: "]
        {
            assert!(matches!(read(other), Scanned::Away(_)), "{other:?}");
        }
    }

    #[test]
    fn an_address_is_a_host_with_its_port_or_a_socket() {
        assert_eq!("tcp://av:3310".parse(), Ok(Clamd::Tcp("av:3310".into())));
        assert_eq!("unix:///run/c.ctl".parse(), Ok(Clamd::Unix("/run/c.ctl".into())));
        for wrong in ["av:3310", "tcp://av", "unix://run", "http://av:3310", ""] {
            assert!(wrong.parse::<Clamd>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_file_goes_over_in_parts_and_the_answer_comes_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scanner = Clamd::Tcp(listener.local_addr().unwrap().to_string());
        let file = vec![7_u8; PART + 5];
        let heard = tokio::spawn(async move {
            let (mut peer, _) = listener.accept().await.unwrap();
            let mut all = vec![0; 10 + 4 + PART + 4 + 5 + 4];
            peer.read_exact(&mut all).await.unwrap();
            peer.write_all(b"stream: OK\0").await.unwrap();
            all
        });
        assert_eq!(scanner.scan(&file).await, Scanned::Clean);
        let heard = heard.await.unwrap();
        assert!(heard.starts_with(b"zINSTREAM\0\0\x01\0\0\x07"));
        assert!(heard.ends_with(b"\x07\0\0\0\0"));
        let gone = Clamd::Tcp("127.0.0.1:1".into());
        assert!(matches!(gone.scan(b"x").await, Scanned::Away(_)));
    }
}
