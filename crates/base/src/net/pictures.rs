//! Fetches pictures that mail names on the web, for a reader who asked to see them: from public addresses only, whatever a
//! redirect says; only what its bytes show to be a picture; so large, in so much time, so many at once. The other side
//! learns that somebody looked, but neither who nor from where.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use file_format::FileFormat;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{ACCEPT, USER_AGENT};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use url::Url;

use crate::ids::WorkspaceId;
use crate::limits::fair_seats::{FairSeat, FairSeats, Sitter};
use crate::net::outside::Outside;

const MOST_BYTES: usize = 5 << 20;
/// For names, redirects and the picture, once there is a seat.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// For a seat.
const QUEUE: Duration = Duration::from_secs(20);
const MOST_REDIRECTS: usize = 3;
/// Seats in all, two thirds of them for one workspace, and of one host: a slow one keeps nobody else's pictures waiting.
const AT_ONCE: usize = 24;
/// All that the kinds of pictures which are shown have their marks in. What begins like another kind is read no further.
const HEAD: usize = 64;
/// Of one workspace that wait.
const MOST_WAITING: usize = 200;
const OF_ONE_HOST: usize = 2;

pub struct Pictures {
    outside: Outside,
    seats: Arc<FairSeats>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
}

pub struct Picture {
    pub content_type: &'static str,
    pub bytes: Bytes,
}

enum FoundPicture {
    Picture(Picture),
    Elsewhere(Url),
}

impl Pictures {
    pub fn new(outside: Outside) -> Self {
        Self { outside, seats: FairSeats::new(AT_ONCE, 2, MOST_WAITING), hosts: Mutex::default() }
    }

    /// Nothing when there is no picture to be had, for whatever reason.
    pub async fn fetch(&self, workspace: WorkspaceId, address: &Url) -> Option<Picture> {
        let (mut address, mut left) = (address.clone(), PATIENCE);
        for _ in 0..=MOST_REDIRECTS {
            let _seat = timeout(QUEUE, self.seat(workspace, address.host_str()?)).await.ok()??;
            let began = Instant::now();
            match timeout(left, self.ask(&address)).await.ok()?? {
                FoundPicture::Picture(picture) => return Some(picture),
                FoundPicture::Elsewhere(to) => address = to,
            }
            left = left.saturating_sub(began.elapsed());
        }
        None
    }

    /// Who waits for a host takes no seat from the others.
    async fn seat(&self, workspace: WorkspaceId, host: &str) -> Option<(OwnedSemaphorePermit, FairSeat)> {
        let of_host = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody sits at or waits for are forgotten.
            hosts.retain(|_, seats| Arc::strong_count(seats) > 1);
            let seats = hosts.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(OF_ONE_HOST)));
            seats.clone()
        };
        let of_host = of_host.acquire_owned().await.ok()?;
        Some((of_host, self.seats.take(Sitter::by_workspace(workspace), QUEUE).await?))
    }

    async fn ask(&self, address: &Url) -> Option<FoundPicture> {
        let checked = self.outside.check(address).await.ok()?;
        let path = &address[url::Position::BeforePath..url::Position::AfterQuery];
        let request = Request::get(path)
            .header(USER_AGENT, "Rookery")
            .header(ACCEPT, "image/png, image/jpeg, image/gif, image/webp")
            .body(Full::default())
            .ok()?;
        let answer = self.outside.send(&checked, request, MOST_BYTES + 1).await.ok()?;
        match (answer.status, answer.location) {
            // Half a picture would be kept for a day.
            (200, _) if answer.whole => picture(answer.body).map(FoundPicture::Picture),
            (301 | 302 | 303 | 307 | 308, Some(to)) => address.join(&to).ok().map(FoundPicture::Elsewhere),
            _ => None,
        }
    }
}

fn picture(bytes: Vec<u8>) -> Option<Picture> {
    let content_type = kind(&bytes).filter(|_| bytes.len() <= MOST_BYTES)?;
    Some(Picture { content_type, bytes: bytes.into() })
}

/// The type of a picture that browsers show and that holds nothing but pixels, by its first bytes. SVG is none: it can hold
/// script.
pub fn kind(bytes: &[u8]) -> Option<&'static str> {
    Some(match FileFormat::from_bytes(&bytes[..bytes.len().min(HEAD)]) {
        FileFormat::PortableNetworkGraphics | FileFormat::AnimatedPortableNetworkGraphics => "image/png",
        FileFormat::JointPhotographicExpertsGroup => "image/jpeg",
        FileFormat::GraphicsInterchangeFormat => "image/gif",
        FileFormat::Webp => "image/webp",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_known_by_its_bytes_alone() {
        assert_eq!(kind(b"GIF89a\x01\x00\x01\x00\x00"), Some("image/gif"));
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Some("image/png"));
        let moves =
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\x08acTL";
        assert_eq!(kind(moves), Some("image/png"));
        assert_eq!(kind(b"\xff\xd8\xff\xe0\0\x10JFIF"), Some("image/jpeg"));
        assert_eq!(kind(b"RIFF\x24\0\0\0WEBPVP8 "), Some("image/webp"));
        for other in [
            &b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"[..],
            b"<?xml version='1.0'?><svg/>",
            b"<!doctype html><script>alert(1)</script>",
            b"%PDF-1.7",
            b"BM\0\0",
            b"",
        ] {
            assert_eq!(kind(other), None);
        }
    }
}
