//! Requests as no well-behaved client sends them, over a plain socket, and what a process takes meanwhile.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::site::Node;

/// Far beyond what anything here should take, so that a busy machine does not matter.
pub const LONG: Duration = Duration::from_secs(20);

/// A key that looks like one and was never made.
pub fn made_up(number: usize) -> String {
    format!("rk_live_{number:048}")
}

/// Where a service listens, from its address.
pub fn socket(address: &str) -> SocketAddr {
    address.trim_start_matches("http://").parse().expect("an address with a port")
}

/// A connection on which something was said.
pub async fn said(address: SocketAddr, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(words).await.expect("it can be said");
    stream
}

/// The code and the body of the answer on a connection that is closed after it, or nothing where none came.
pub async fn answer(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<(u16, String)> {
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while let Ok(Ok(count)) = tokio::time::timeout(LONG, stream.read(&mut part)).await {
        answer.extend_from_slice(&part[..count]);
        if count == 0 {
            break;
        }
    }
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// Whether the other side closes the connection, whatever it says before.
pub async fn is_closed(stream: &mut TcpStream) -> bool {
    let reading = async {
        let mut part = [0; 4096];
        while stream.read(&mut part).await.is_ok_and(|count| count > 0) {}
    };
    tokio::time::timeout(LONG, reading).await.is_ok()
}

/// Kilobytes of memory that a process holds, now or at its most.
pub fn memory(node: &Node, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.id())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with(field)).expect("a line of memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}
