//! The streams that are open on this node: so many of a session, so many in all. Each has a seat, which says when its
//! session may not listen any more; the worker looks at the sessions of all seats together, every half minute.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;

/// Streams of one session: its windows that are in sight.
const MOST_OF_ONE: usize = 5;

/// Whose stream it is: a session, by its number.
pub type Session = (WorkspaceId, i64);

pub struct Streams {
    most: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    count: usize,
    of: HashMap<Session, Vec<Arc<Notify>>>,
}

/// A place for one stream, given back when dropped.
pub struct Seat {
    open: Arc<Mutex<Open>>,
    session: Session,
    end: Arc<Notify>,
}

impl Streams {
    pub fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    pub fn admit(&self, session: Session) -> Result<Seat> {
        let mut open = locked(&self.open);
        if open.count >= self.most {
            return Err(no_room("Too many pages are open. This one is refreshed once a minute."));
        }
        let own = open.of.entry(session).or_default();
        if own.len() >= MOST_OF_ONE {
            return Err(no_room("You have many windows open. This one is refreshed once a minute."));
        }
        let end = Arc::new(Notify::new());
        own.push(end.clone());
        open.count += 1;
        Ok(Seat { open: self.open.clone(), session, end })
    }

    pub fn count(&self) -> usize {
        locked(&self.open).count
    }

    /// Whose streams are open, each once.
    pub fn sessions(&self) -> Vec<Session> {
        locked(&self.open).of.keys().copied().collect()
    }

    /// Ends the streams of those sessions that were looked at and are not good any more.
    pub fn end_all_but(&self, looked_at: &[Session], good: &HashSet<Session>) {
        let open = locked(&self.open);
        for session in looked_at.iter().filter(|session| !good.contains(session)) {
            for end in open.of.get(session).into_iter().flatten() {
                end.notify_one();
            }
        }
    }
}

fn no_room(sentence: &str) -> Error {
    Error::SlowDown { sentence: sentence.to_owned(), retry_after: Duration::from_secs(60) }
}

impl Seat {
    /// Completes when the session may not listen any more.
    pub async fn ended(&self) {
        self.end.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = locked(&self.open);
        open.count -= 1;
        if let Some(own) = open.of.get_mut(&self.session) {
            own.retain(|other| !Arc::ptr_eq(other, &self.end));
            if own.is_empty() {
                open.of.remove(&self.session);
            }
        }
    }
}

fn locked(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const ADA: Session = (WorkspaceId(1), 1);
    const BEN: Session = (WorkspaceId(1), 2);

    #[test]
    fn a_session_and_everybody_together_have_so_many_places() {
        let streams = Streams::new(7);
        let ada: Vec<Seat> = (0..5).map(|_| streams.admit(ADA).unwrap()).collect();
        assert!(streams.admit(ADA).is_err(), "a sixth of one session");
        let ben = [streams.admit(BEN).unwrap(), streams.admit(BEN).unwrap()];
        assert!(streams.admit((WorkspaceId(2), 1)).is_err(), "an eighth in all");
        drop(ada);
        assert_eq!(streams.count(), 2);
        assert_eq!(streams.sessions(), [BEN]);
        drop(ben);
        assert_eq!((streams.count(), streams.sessions().len()), (0, 0));
    }

    #[test]
    fn only_sessions_that_were_looked_at_and_are_not_good_end() {
        let streams = Streams::new(10);
        let (ada, ben, late) = (
            streams.admit(ADA).unwrap(),
            streams.admit(BEN).unwrap(),
            streams.admit((WorkspaceId(1), 3)).unwrap(),
        );
        streams.end_all_but(&[ADA, BEN], &HashSet::from([BEN]));
        assert!(ada.ended().now_or_never().is_some());
        assert!(ben.ended().now_or_never().is_none() && late.ended().now_or_never().is_none());
    }
}
