//! A mail client that says exactly what it is told to, byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub struct Client<S = TcpStream> {
    stream: BufReader<S>,
}

/// An answer: its code, and all its lines.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub text: String,
}

impl Client {
    /// Connects and hears the greeting.
    pub async fn connect(address: SocketAddr) -> (Self, Answer) {
        Self::over(TcpStream::connect(address).await.expect("a connection")).await
    }

    /// Connects and introduces itself.
    pub async fn greeted(address: SocketAddr) -> Self {
        let (mut client, greeting) = Self::connect(address).await;
        assert_eq!(greeting.code, 220, "{greeting:?}");
        let answer = client.say("EHLO customer.example").await;
        assert_eq!(answer.code, 250, "{answer:?}");
        client
    }

    pub fn into_stream(self) -> TcpStream {
        self.stream.into_inner()
    }
}

impl<S: AsyncReadExt + AsyncWriteExt + Unpin> Client<S> {
    pub async fn over(stream: S) -> (Self, Answer) {
        let mut client = Self::with(stream);
        let greeting = client.hear().await;
        (client, greeting)
    }

    /// Without waiting for a greeting.
    pub fn with(stream: S) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        // The other side may have closed already; then the answer says so.
        let _ = self.stream.get_mut().write_all(bytes).await;
    }

    /// One command and its answer.
    pub async fn say(&mut self, command: &str) -> Answer {
        self.send(format!("{command}\r\n").as_bytes()).await;
        self.hear().await
    }

    /// The next answer; code 0 when the connection was closed.
    pub async fn hear(&mut self) -> Answer {
        let mut text = String::new();
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(Duration::from_secs(30), self.stream.read_line(&mut line)).await;
            if read.expect("an answer in time").unwrap_or(0) == 0 {
                return Answer { code: 0, text };
            }
            text.push_str(&line);
            if line.as_bytes().get(3) != Some(&b'-') {
                return Answer { code: line[..3].parse().expect("a code"), text };
            }
        }
    }

    /// Envelope and mail. The answer is the first that is not as hoped, or the last.
    pub async fn mail(&mut self, from: &str, to: &str, raw: &str) -> Answer {
        for command in [format!("MAIL FROM:<{from}>"), format!("RCPT TO:<{to}>")] {
            let answer = self.say(&command).await;
            if answer.code != 250 {
                return answer;
            }
        }
        let answer = self.say("DATA").await;
        if answer.code != 354 {
            return answer;
        }
        self.send(crlf(raw).as_bytes()).await;
        self.say(".").await
    }
}

/// Line ends as mail has them, dots at their beginning doubled.
pub fn crlf(text: &str) -> String {
    let lines =
        text.lines().map(|line| if line.starts_with('.') { format!(".{line}") } else { line.to_owned() });
    lines.map(|line| line + "\r\n").collect()
}
