//! A customer on a poor line: an upload that goes on for as long as the floods do, a little at a time and never silent for long.
//! It is older than everything that the floods open, and is none of what they cost.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

use super::honest::form;
use rookery_world::pages::customer::pdf;
use rookery_world::programs::raw::answer;
use rookery_world::site::Node;

/// Parts of the body, each large enough to count.
const PARTS: u32 = 40;
const PART: usize = 8 << 10;

/// What was answered when it was through: 303 is taken.
pub async fn long_upload(node: &Node, item: &str, time: Duration) -> Option<u16> {
    let note = [
        b"--edge\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n".as_slice(),
        &vec![b'x'; PARTS as usize * PART],
        b"\r\n",
    ]
    .concat();
    let body = [note, form("lease.pdf", &pdf("a long one"))].concat();
    let head = format!(
        "POST {item} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=edge\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind(SocketAddr::from(([127, 2, 0, 99], 0))).ok()?;
    let to: SocketAddr = node.address.strip_prefix("http://")?.parse().ok()?;
    let mut stream = socket.connect(to).await.ok()?;
    stream.write_all(head.as_bytes()).await.ok()?;
    for part in body.chunks(PART) {
        stream.write_all(part).await.ok()?;
        tokio::time::sleep(time / (PARTS + 2)).await;
    }
    answer(&mut stream).await.map(|(code, _)| code)
}
