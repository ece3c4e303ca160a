//! Reads request bodies, only after the caller is authenticated. A body that arrives too slowly is given up. All
//! bodies together have a memory budget, of which one workspace gets a share.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use bytes::BytesMut;
use futures::StreamExt;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;

/// Bytes of all bodies together, and of one workspace, which is one body of the largest size.
const BUDGET: usize = 64 << 20;
const SHARE: usize = 16 << 20;
/// A body up to this size is not refused for the workspace's share, so that ordinary requests do not wait for
/// large ones.
const SMALL: usize = 64 << 10;
/// A body that takes longer than this to arrive is given up.
const BODY_TIME: Duration = Duration::from_secs(30);
/// A client must send this much, or the end of the body, within its patience.
const STEP: usize = 8 << 10;

pub struct Bodies {
    patience: Duration,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    all: usize,
    own: HashMap<WorkspaceId, usize>,
}

/// A body, and its reservation of memory until it is dropped.
pub struct Whole {
    pub bytes: Bytes,
    _room: Room,
}

struct Room {
    bodies: Arc<Bodies>,
    of: WorkspaceId,
    bytes: usize,
}

impl Bodies {
    /// `patience`: how long a client may take for the next part of its body. A body waits half of it for memory.
    pub fn new(patience: Duration) -> Arc<Self> {
        Arc::new(Self { patience, taken: Mutex::default(), freed: Notify::new() })
    }

    /// Reads the body of an authenticated request of this workspace.
    pub async fn read(self: &Arc<Self>, body: Body, most: usize, of: WorkspaceId) -> Result<Whole> {
        let mut room = Room { bodies: self.clone(), of, bytes: 0 };
        if body.is_end_stream() {
            return Ok(Whole { bytes: Bytes::new(), _room: room });
        }
        let told = body.size_hint();
        // Without a Content-Length, start small and grow.
        room.grow(told.exact().unwrap_or(SMALL as u64).min(most as u64) as usize).await?;
        let mut coming = body.into_data_stream();
        let mut whole = BytesMut::new();
        let last = Instant::now() + BODY_TIME;
        let (mut due, mut since) = (Instant::now() + self.patience, 0);
        loop {
            let part = match timeout_at(due.min(last), coming.next()).await {
                Ok(Some(Ok(part))) => part,
                // Part of a body that was to be longer, from a connection that is gone.
                Ok(None) if told.exact().is_some_and(|told| told != whole.len() as u64) => {
                    return Err(Error::TooLarge);
                }
                Ok(None) => return Ok(Whole { bytes: whole.freeze(), _room: room }),
                // The connection broke, so nobody reads this error.
                Ok(Some(Err(_))) => return Err(Error::TooLarge),
                Err(_) => return Err(Error::problem("request body", "took too long to arrive")),
            };
            if whole.len() + part.len() > most {
                return Err(Error::TooLarge);
            }
            if whole.len() + part.len() > room.bytes {
                room.grow((2 * room.bytes).max(whole.len() + part.len()).min(most)).await?;
            }
            whole.extend_from_slice(&part);
            since += part.len();
            if since >= STEP {
                (due, since) = (Instant::now() + self.patience, 0);
            }
        }
    }

    /// Enlarges a reservation, if the budget allows it.
    fn resize(&self, of: WorkspaceId, held: usize, wanted: usize) -> bool {
        let mut taken = self.taken();
        let all = taken.all - held + wanted;
        let own = taken.own.get(&of).copied().unwrap_or_default() - held + wanted;
        if all > BUDGET || (own > SHARE && wanted > SMALL) {
            return false;
        }
        taken.put(of, all, own);
        true
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn put(&mut self, of: WorkspaceId, all: usize, own: usize) {
        self.all = all;
        match own {
            0 => drop(self.own.remove(&of)),
            own => drop(self.own.insert(of, own)),
        }
    }
}

impl Room {
    async fn grow(&mut self, wanted: usize) -> Result<()> {
        let bodies = self.bodies.clone();
        // Waits: memory becomes free when other bodies are done or stalled clients are given up.
        let until = Instant::now() + bodies.patience / 2;
        loop {
            let mut freed = pin!(bodies.freed.notified());
            // Registered before the check, so that no notification is missed.
            freed.as_mut().enable();
            if bodies.resize(self.of, self.bytes, wanted) {
                self.bytes = wanted;
                return Ok(());
            }
            let no_room = |_| Error::internal("the memory budget for request bodies is used up");
            timeout_at(until, freed).await.map_err(no_room)?;
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut taken = self.bodies.taken();
        let all = taken.all - self.bytes;
        let own = taken.own.get(&self.of).copied().unwrap_or_default() - self.bytes;
        taken.put(self.of, all, own);
        drop(taken);
        self.bodies.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: WorkspaceId = WorkspaceId(1);
    const LARGE: usize = 16 << 20;

    async fn room(bodies: &Arc<Bodies>, of: WorkspaceId, bytes: usize) -> Option<Room> {
        let mut room = Room { bodies: bodies.clone(), of, bytes: 0 };
        room.grow(bytes).await.ok().map(|()| room)
    }

    fn body(parts: &[&'static str]) -> Body {
        let parts = parts.to_vec();
        Body::from_stream(futures::stream::iter(parts.into_iter().map(Ok::<_, std::io::Error>)))
    }

    #[tokio::test]
    async fn one_workspace_takes_its_share_and_all_together_the_budget() {
        let bodies = Bodies::new(Duration::from_secs(1));
        let first = room(&bodies, HERE, LARGE).await;
        assert!(first.is_some());
        assert!(room(&bodies, HERE, LARGE).await.is_none(), "its share is taken");
        assert!(room(&bodies, HERE, SMALL).await.is_some(), "ordinary requests go on");
        let others: Vec<_> =
            futures::future::join_all((2..5).map(|id| room(&bodies, WorkspaceId(id), LARGE))).await;
        assert!(others.iter().all(Option::is_some));
        assert!(room(&bodies, WorkspaceId(5), 1).await.is_none(), "nothing is left");
        let waiting = room(&bodies, WorkspaceId(5), LARGE);
        let leaving = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        let (served, ()) = futures::join!(waiting, leaving);
        assert!(served.is_some(), "whoever waits gets what is given back");
        drop((served, others));
        let taken = bodies.taken();
        assert_eq!((taken.all, taken.own.len()), (0, 0));
    }

    #[tokio::test]
    async fn a_body_without_a_length_is_read_to_its_cap() {
        let bodies = Bodies::new(Duration::from_secs(1));
        let whole = bodies.read(body(&["ab", "cd"]), 4, HERE).await.unwrap();
        assert_eq!((&*whole.bytes, bodies.taken().all), (&b"abcd"[..], 4));
        assert!(matches!(bodies.read(body(&["ab", "cde"]), 4, HERE).await, Err(Error::TooLarge)));
        assert_eq!(bodies.read(Body::empty(), 4, HERE).await.unwrap().bytes.len(), 0);
        drop(whole);
        assert_eq!(bodies.taken().all, 0);
    }

    #[tokio::test]
    async fn a_body_that_arrives_too_slowly_is_given_up() {
        let bodies = Bodies::new(Duration::from_secs(1));
        let drip = |part: &'static [u8]| {
            Body::from_stream(futures::stream::repeat(()).then(move |()| async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok::<_, std::io::Error>(part)
            }))
        };
        let error = bodies.read(drip(b"x"), 1 << 20, HERE).await.err().expect("it is given up");
        assert_eq!(error.to_string(), "request body: took too long to arrive");
        static ENOUGH: [u8; STEP] = [b'x'; STEP];
        let error = bodies.read(drip(&ENOUGH), 64 * STEP, HERE).await.err().expect("it is too large");
        assert!(matches!(error, Error::TooLarge), "{error}");
    }
}
