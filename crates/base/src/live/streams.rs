//! The streams that are open on this node: so many of a session, so many in all; a workspace gets another one while it has
//! fewer than two for each that is free, so some are left for others. Each has a seat, which says when its
//! session may not listen any more; the worker looks at the sessions of all seats together, every half minute.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::error::{Error, Result};
use crate::ids::{SessionId, WorkspaceId};

/// Streams of one session: its windows that are in sight.
const MOST_OF_ONE: usize = 5;
/// Of one workspace, for each that is free.
const FOR_EACH_FREE: usize = 2;

/// Whose stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamSession {
    pub workspace: WorkspaceId,
    pub id: SessionId,
}

pub struct Streams {
    most: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    count: usize,
    of_workspace: HashMap<WorkspaceId, usize>,
    of: HashMap<StreamSession, Vec<Arc<Notify>>>,
}

/// A place for one stream, given back when dropped.
pub struct StreamSeat {
    open: Arc<Mutex<Open>>,
    session: StreamSession,
    end: Arc<Notify>,
}

impl Streams {
    pub fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    pub fn admit(&self, session: StreamSession) -> Result<StreamSeat> {
        let mut open = locked(&self.open);
        let of_workspace = open.of_workspace.get(&session.workspace).copied().unwrap_or_default();
        if open.count >= self.most || of_workspace >= FOR_EACH_FREE * (self.most - open.count) {
            return Err(no_room("Too many pages are open. This one is refreshed once a minute."));
        }
        let own = open.of.entry(session).or_default();
        if own.len() >= MOST_OF_ONE {
            return Err(no_room("You have many windows open. This one is refreshed once a minute."));
        }
        let end = Arc::new(Notify::new());
        own.push(end.clone());
        open.count += 1;
        *open.of_workspace.entry(session.workspace).or_default() += 1;
        Ok(StreamSeat { open: self.open.clone(), session, end })
    }

    pub fn count(&self) -> usize {
        locked(&self.open).count
    }

    /// Whose streams are open, each once.
    pub fn sessions(&self) -> Vec<StreamSession> {
        locked(&self.open).of.keys().copied().collect()
    }

    /// Ends the streams of those sessions that were looked at and are not good any more.
    pub fn end_all_but(&self, looked_at: &[StreamSession], good: &HashSet<StreamSession>) {
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

impl StreamSeat {
    /// Completes when the session may not listen any more.
    pub async fn ended(&self) {
        self.end.notified().await;
    }
}

impl Drop for StreamSeat {
    fn drop(&mut self) {
        let mut open = locked(&self.open);
        open.count -= 1;
        match open.of_workspace.get_mut(&self.session.workspace) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(open.of_workspace.remove(&self.session.workspace)),
        }
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

    const ADA: StreamSession = session(1, 1);
    const BEN: StreamSession = session(1, 2);

    const fn session(workspace: i64, id: i64) -> StreamSession {
        StreamSession { workspace: WorkspaceId(workspace), id: SessionId(id) }
    }

    #[test]
    fn a_session_and_everybody_together_have_so_many_places() {
        let streams = Streams::new(10);
        let ada: Vec<StreamSeat> = (0..5).map(|_| streams.admit(ADA).unwrap()).collect();
        assert!(streams.admit(ADA).is_err(), "a sixth of one session");
        let ben = [streams.admit(BEN).unwrap(), streams.admit(BEN).unwrap()];
        assert!(streams.admit(BEN).is_err(), "an eighth of one workspace");
        let others: Vec<StreamSeat> = (2..5).map(|id| streams.admit(session(id, 1)).unwrap()).collect();
        assert!(streams.admit(session(5, 1)).is_err(), "an eleventh in all");
        drop((ada, others));
        assert_eq!(streams.count(), 2);
        assert_eq!(streams.sessions(), [BEN]);
        drop(ben);
        assert_eq!((streams.count(), streams.sessions().len()), (0, 0));
        assert!(streams.open.lock().unwrap().of_workspace.is_empty());
    }

    #[test]
    fn only_sessions_that_were_looked_at_and_are_not_good_end() {
        let streams = Streams::new(10);
        let (ada, ben, late) =
            (streams.admit(ADA).unwrap(), streams.admit(BEN).unwrap(), streams.admit(session(1, 3)).unwrap());
        streams.end_all_but(&[ADA, BEN], &HashSet::from([BEN]));
        assert!(ada.ended().now_or_never().is_some());
        assert!(ben.ended().now_or_never().is_none() && late.ended().now_or_never().is_none());
    }
}
