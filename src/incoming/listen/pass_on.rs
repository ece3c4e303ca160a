//! Mail for a cell that other nodes serve is passed on to one of them by LMTP, with what is known of its sender. The answer
//! is theirs: a 250 is said here after their commit.
//!
//! It is passed on once. Whoever gets such mail and does not serve the cell either, asks the sender to try again.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::origin::{FLEET, Origin};

/// How long another node may take, storing included.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest line of an answer.
const MOST_LINE: u64 = 4096;

pub struct Passed<'a> {
    pub name: &'a str,
    pub origin: &'a Origin,
    pub from: &'a str,
    pub to: &'a str,
    pub raw: &'a [u8],
}

impl Passed<'_> {
    /// What the node at this address answers.
    pub async fn to(&self, address: &str) -> io::Result<String> {
        timeout(PATIENCE, self.say_it_all(address)).await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn say_it_all(&self, address: &str) -> io::Result<String> {
        let mut line = Line(BufReader::new(TcpStream::connect(address).await?));
        let Self { name, from, to, .. } = self;
        line.answer().await?;
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
                return Ok(answer);
            }
        }
        let answer = line.ask("DATA\r\n").await?;
        if !answer.starts_with('3') {
            return Ok(answer);
        }
        line.0.get_mut().write_all(&stuffed(self.raw)).await?;
        let answer = line.answer().await?;
        // It is said, so it holds, whatever becomes of the goodbye.
        let _ = line.0.get_mut().write_all(b"QUIT\r\n").await;
        Ok(answer)
    }
}

struct Line(BufReader<TcpStream>);

impl Line {
    async fn ask(&mut self, command: &str) -> io::Result<String> {
        self.0.get_mut().write_all(command.as_bytes()).await?;
        self.answer().await
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
    fn lines_that_begin_with_a_dot_have_two_and_the_end_has_one() {
        assert_eq!(stuffed(b"a\r\n.b\r\n..c\r\n"), b"a\r\n..b\r\n...c\r\n.\r\n");
        assert_eq!(stuffed(b"a"), b"a\r\n.\r\n");
        assert_eq!(stuffed(b".\r\n"), b"..\r\n.\r\n");
    }
}
