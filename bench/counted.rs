//! A relay and a receiver of webhooks that say yes to everything and count.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Somebody who is sent things, says yes, and counts.
pub struct Counted {
    name: &'static str,
    pub port: u16,
    count: Arc<AtomicUsize>,
}

impl Counted {
    pub async fn new(name: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let count = Arc::new(AtomicUsize::new(0));
        let counts = count.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stream = BufReader::new(stream);
                match name {
                    "relay" => drop(tokio::spawn(take_mail(stream, counts.clone()))),
                    _ => drop(tokio::spawn(take_events(stream, counts.clone()))),
                }
            }
        });
        Self { name, port, count }
    }

    pub fn so_far(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Waits until nothing comes for a while.
    pub async fn print(self) {
        let (began, mut last, mut seen) = (Instant::now(), Instant::now(), 0);
        while last.elapsed() < Duration::from_secs(5) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.so_far();
            if now != seen {
                (seen, last) = (now, Instant::now());
            }
        }
        println!(
            "{}: {seen}, the last {:.1} s after the last reply",
            self.name,
            (last - began).as_secs_f64()
        );
    }
}

async fn take_mail(mut stream: BufReader<TcpStream>, count: Arc<AtomicUsize>) -> std::io::Result<()> {
    stream.write_all(b"220 relay\r\n").await?;
    let (mut line, mut in_data) = (String::new(), false);
    while {
        line.clear();
        stream.read_line(&mut line).await? > 0
    } {
        let answer: &[u8] = match (in_data, line.get(..4).unwrap_or_default().to_ascii_uppercase().as_str()) {
            (true, _) if line == ".\r\n" => {
                in_data = false;
                count.fetch_add(1, Ordering::Relaxed);
                b"250 taken\r\n"
            }
            (true, _) => continue,
            (false, "DATA") => {
                in_data = true;
                b"354 go on\r\n"
            }
            _ => b"250 yes\r\n",
        };
        stream.write_all(answer).await?;
    }
    Ok(())
}

async fn take_events(mut stream: BufReader<TcpStream>, count: Arc<AtomicUsize>) -> std::io::Result<()> {
    let (mut line, mut length) = (String::new(), 0);
    while {
        line.clear();
        stream.read_line(&mut line).await? > 0
    } {
        if let Some(told) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = told.trim().parse().unwrap_or_default();
        }
        if line == "\r\n" {
            stream.read_exact(&mut vec![0; length]).await?;
            count.fetch_add(1, Ordering::Relaxed);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
        }
    }
    Ok(())
}
