//! What the loops of this node could not do, and from when on it is tried again: later and later, until it succeeds.
//! A row or a whole workspace stands aside meanwhile, and whatever is behind it goes on. Each node remembers its own,
//! so nothing has to be written where writing has just failed.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;

const FIRST: TimeDelta = TimeDelta::seconds(5);
/// Doubled this often, at most: ten minutes and a half.
const DOUBLED: u32 = 7;
/// What has not failed again for so long was done by another node, or is gone.
const FORGOTTEN: TimeDelta = TimeDelta::hours(1);

/// The loops of this node, by name.
#[derive(Default)]
pub struct Loops(Mutex<BTreeMap<&'static str, Arc<Backoff>>>);

impl Loops {
    pub fn backoff_of(&self, name: &'static str) -> Arc<Backoff> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name).or_insert_with(|| Arc::new(Backoff { name, state: Mutex::default() })).clone()
    }
}

/// What one loop put off, and how often it failed.
pub struct Backoff {
    name: &'static str,
    state: Mutex<BackoffState>,
}

#[derive(Default)]
struct BackoffState {
    until: HashMap<BackoffPiece, (u32, DateTime<Utc>)>,
    counted: BackoffCounts,
}

/// Since the process began. A panic is no error here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackoffCounts {
    pub errors: u64,
    pub panics: u64,
    /// How often something was put off.
    pub put_off: u64,
}

impl BackoffCounts {
    fn add(&mut self, error: &Error) {
        *if error.is_panic() { &mut self.panics } else { &mut self.errors } += 1;
    }
}

/// What can be put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackoffPiece {
    Workspace(WorkspaceId),
    /// By its id.
    Row(WorkspaceId, i64),
}

/// What a query for due rows passes over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    pub workspaces: Vec<i64>,
    pub rows: Vec<i64>,
}

impl Aside {
    pub fn add(&mut self, work: BackoffPiece) {
        match work {
            BackoffPiece::Workspace(workspace) => self.workspaces.push(workspace.0),
            BackoffPiece::Row(_, row) => self.rows.push(row),
        }
    }
}

impl Backoff {
    pub fn is_put_off(&self, workspace: WorkspaceId, now: DateTime<Utc>) -> bool {
        self.state().until.get(&BackoffPiece::Workspace(workspace)).is_some_and(|(_, until)| *until > now)
    }

    /// Everything that is put off now.
    pub fn aside(&self, now: DateTime<Utc>) -> Aside {
        let mut aside = Aside::default();
        let state = self.state();
        state.until.iter().filter(|(_, (_, until))| *until > now).for_each(|(work, _)| aside.add(*work));
        aside
    }

    /// Says and counts that something failed, and puts it off.
    pub fn failed(&self, work: BackoffPiece, error: &Error, now: DateTime<Utc>) {
        // Nothing of it can be done while its workspace lets nobody in.
        let work = match work {
            BackoffPiece::Row(workspace, _) if error.is_fenced() => BackoffPiece::Workspace(workspace),
            work => work,
        };
        let mut state = self.state();
        state.until.retain(|_, (_, until)| *until + FORGOTTEN > now);
        let (failures, until) = state.until.entry(work).or_insert((0, now));
        *until = now + FIRST * (1 << (*failures).min(DOUBLED));
        let again = *until;
        // When the database is out of reach, this is not to blame and is tried again soon after; the loop as a whole
        // has failed, and that is counted once.
        if !error.is_outage() {
            *failures += 1;
            state.counted.add(error);
        }
        state.counted.put_off += 1;
        drop(state);
        tracing::warn!(%error, work = self.name, what = ?work, %again, "it failed and is put off");
    }

    pub fn succeeded(&self, work: BackoffPiece) {
        self.state().until.remove(&work);
    }

    /// Counts a failure of the loop itself, or of something that has its own way of waiting.
    pub fn count(&self, error: &Error) {
        self.state().counted.add(error);
    }

    pub fn counted(&self) -> BackoffCounts {
        self.state().counted
    }

    fn state(&self) -> MutexGuard<'_, BackoffState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A panic of one piece of work is an error of it, and of nothing else. What it says is not kept: it can hold
/// a customer's words.
pub async fn caught<T>(doing: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(doing).catch_unwind().await.unwrap_or_else(|_| Err(Error::panicked()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> Error {
        Error::internal("no")
    }

    #[test]
    fn it_is_put_off_for_longer_each_time_and_begins_anew_after_a_success() {
        let (put_off, mut now) = (Loops::default().backoff_of("test"), DateTime::UNIX_EPOCH);
        let (work, workspace) = (BackoffPiece::Workspace(WorkspaceId(1)), WorkspaceId(1));
        for seconds in [5, 10, 20, 40, 80, 160, 320, 640, 640] {
            put_off.failed(work, &error(), now);
            assert!(put_off.is_put_off(workspace, now + TimeDelta::seconds(seconds - 1)));
            now += TimeDelta::seconds(seconds);
            assert!(!put_off.is_put_off(workspace, now), "{seconds}");
        }
        put_off.succeeded(work);
        put_off.failed(work, &error(), now);
        assert!(!put_off.is_put_off(workspace, now + TimeDelta::seconds(5)));
        assert!(!put_off.is_put_off(WorkspaceId(2), now));
        assert_eq!(put_off.counted(), BackoffCounts { errors: 10, panics: 0, put_off: 10 });
    }

    #[test]
    fn an_outage_is_nobodys_fault_and_does_not_make_the_delay_grow() {
        let (put_off, mut now) = (Loops::default().backoff_of("test"), DateTime::UNIX_EPOCH);
        for _ in 0..20 {
            put_off.failed(BackoffPiece::Row(WorkspaceId(1), 7), &sqlx::Error::PoolTimedOut.into(), now);
            assert_eq!(put_off.aside(now), Aside { workspaces: vec![], rows: vec![7] });
            now += FIRST;
            assert_eq!(put_off.aside(now), Aside::default());
        }
    }

    #[test]
    fn what_does_not_come_again_is_forgotten() {
        let (put_off, now) = (Loops::default().backoff_of("test"), DateTime::UNIX_EPOCH);
        for row in 0..100 {
            put_off.failed(
                BackoffPiece::Row(WorkspaceId(1), row),
                &error(),
                now + TimeDelta::hours(2) * row as i32,
            );
        }
        assert_eq!(put_off.state().until.len(), 1);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_one_that_panicked() {
        let put_off = Loops::default().backoff_of("test");
        let error = caught::<()>(async { panic!("a panic on purpose") }).await.unwrap_err();
        assert!(error.is_panic() && !error.to_string().contains("purpose"), "{error}");
        put_off.failed(BackoffPiece::Row(WorkspaceId(1), 1), &error, DateTime::UNIX_EPOCH);
        assert_eq!(put_off.counted(), BackoffCounts { errors: 0, panics: 1, put_off: 1 });
        assert_eq!(caught(async { Ok(1) }).await.unwrap(), 1);
    }
}
