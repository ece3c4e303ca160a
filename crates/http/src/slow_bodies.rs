//! Bodies that come over slow lines, as files from phones do: one has a minute, and a second more for each four kilobytes
//! that came, and may not stand still for long. So 25 MB over a poor line pass, and whoever drips is given up. Nobody
//! earns more than for those 25 MB, and when the node stops a body has half a minute.
//!
//! A body comes a part at a time, and who reads it says what it made use of: what only piles up ends it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures::{Stream, StreamExt, stream};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout_at};

use rookery_base::shutdown::Stop;

/// Before anything is owed.
const FREE: Duration = Duration::from_secs(60);
/// What a second is worth.
const PACE: u64 = 4 << 10;
/// What earns time.
const EARNS: u64 = 25 << 20;
/// Without a single byte, and after the word to stop.
const STILL: Duration = Duration::from_secs(30);
/// Of what nobody made use of.
const PILE: u64 = 1 << 20;

/// What came and was not made use of yet, in bytes.
#[derive(Clone, Default)]
pub struct Pile(Arc<AtomicU64>);

impl Pile {
    pub fn used(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// False when it is too much.
    fn add(&self, bytes: u64) -> bool {
        self.0.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= PILE
    }
}

struct Coming {
    body: BodyDataStream,
    began: Instant,
    bytes: u64,
}

/// The body in its parts; an error ends it.
pub fn paced(body: Body, pile: Pile, stop: Stop) -> impl Stream<Item = Result<Bytes, io::Error>> + Send {
    let coming = Coming { body: body.into_data_stream(), began: Instant::now(), bytes: 0 };
    stream::try_unfold(coming, move |mut coming| {
        let (pile, stop) = (pile.clone(), stop.clone());
        async move {
            // Who reads takes all that is ready before it looks at any of it.
            yield_now().await;
            let now = Instant::now();
            let patience = patience(coming.bytes, now.duration_since(coming.began));
            let stopped = async {
                stop.wait().await;
                sleep(STILL).await;
            };
            let next = tokio::select! {
                next = timeout_at(now + patience, coming.body.next()) => next,
                () = stopped => return Err(io::Error::other("the node stops")),
            };
            match next {
                Ok(Some(Ok(part))) if pile.add(part.len() as u64) => {
                    coming.bytes += part.len() as u64;
                    Ok(Some((part, coming)))
                }
                Ok(Some(Ok(_))) => Err(io::Error::other("the body is not what it says")),
                Ok(Some(Err(error))) => Err(io::Error::other(error)),
                Ok(None) => Ok(None),
                Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the body came too slowly")),
            }
        }
    })
}

/// How long to wait for the next part, when so much came in so long a time.
fn patience(bytes: u64, since: Duration) -> Duration {
    let earned = FREE + Duration::from_secs(bytes.min(EARNS) / PACE);
    earned.saturating_sub(since).min(STILL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends parts of a size, one every so often: what came, when, and whether it was given up.
    fn line(size: u64, every: Duration, whole: u64) -> (u64, Duration, bool) {
        let (mut bytes, mut since) = (0, Duration::ZERO);
        while bytes < whole {
            if patience(bytes, since) < every {
                return (bytes, since, true);
            }
            bytes += size;
            since += every;
        }
        (bytes, since, false)
    }

    #[test]
    fn a_phone_on_a_poor_line_sends_its_25_megabytes() {
        let (_, time, given_up) = line(1400, Duration::from_millis(300), 25 << 20);
        assert!(!given_up && time > Duration::from_secs(3600), "{time:?}");
        // Ten seconds of tunnel every minute.
        let (_, _, given_up) = line(1 << 20, Duration::from_secs(25), 25 << 20);
        assert!(!given_up);
    }

    #[test]
    fn a_drip_is_given_up_after_about_a_minute_and_silence_sooner() {
        let (bytes, time, given_up) = line(100, Duration::from_secs(1), 25 << 20);
        assert!(given_up && time <= Duration::from_secs(63), "{bytes} {time:?}");
        assert_eq!(line(1, Duration::from_secs(3600), 25 << 20), (0, Duration::ZERO, true));
        assert_eq!(patience(25 << 20, Duration::from_secs(100)), STILL);
        let two_hours = Duration::from_secs(2 * 3600);
        assert_eq!(patience(300 << 20, two_hours), Duration::ZERO, "what is thrown away earns no hours");
    }

    #[tokio::test]
    async fn what_piles_up_unused_ends_a_body() {
        let part = Bytes::from(vec![b'x'; 300 << 10]);
        let body = || Body::from_stream(stream::iter(vec![part.clone(); 8]).map(Ok::<_, io::Error>));
        let all: Vec<_> = paced(body(), Pile::default(), Stop::not_yet()).collect().await;
        assert_eq!((all.len(), all.last().map(Result::is_err)), (4, Some(true)));
        let pile = Pile::default();
        let used = paced(body(), pile.clone(), Stop::not_yet()).inspect(|_| pile.used());
        assert!(used.all(|part| async move { part.is_ok() }).await);
    }
}
