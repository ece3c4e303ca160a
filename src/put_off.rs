//! Workspaces whose work failed, and from when on it is tried again: later and later, until it succeeds. Each node
//! remembers its own, so nothing has to be written where writing has just failed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::ids::WorkspaceId;

const FIRST: TimeDelta = TimeDelta::seconds(5);
/// Doubled this often, at most: ten minutes and a half.
const DOUBLED: u32 = 7;

#[derive(Default)]
pub struct PutOff(Mutex<HashMap<WorkspaceId, (u32, DateTime<Utc>)>>);

impl PutOff {
    pub fn is_put_off(&self, workspace: WorkspaceId, now: DateTime<Utc>) -> bool {
        self.all().get(&workspace).is_some_and(|(_, until)| *until > now)
    }

    pub fn failed(&self, workspace: WorkspaceId, now: DateTime<Utc>) {
        let mut all = self.all();
        let (failures, until) = all.entry(workspace).or_insert((0, now));
        *until = now + FIRST * (1 << (*failures).min(DOUBLED));
        *failures += 1;
    }

    pub fn succeeded(&self, workspace: WorkspaceId) {
        self.all().remove(&workspace);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<WorkspaceId, (u32, DateTime<Utc>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_put_off_for_longer_each_time_and_begins_anew_after_a_success() {
        let (put_off, workspace, mut now) = (PutOff::default(), WorkspaceId(1), DateTime::UNIX_EPOCH);
        for seconds in [5, 10, 20, 40, 80, 160, 320, 640, 640] {
            put_off.failed(workspace, now);
            assert!(put_off.is_put_off(workspace, now + TimeDelta::seconds(seconds - 1)));
            now += TimeDelta::seconds(seconds);
            assert!(!put_off.is_put_off(workspace, now), "{seconds}");
        }
        put_off.succeeded(workspace);
        put_off.failed(workspace, now);
        assert!(!put_off.is_put_off(workspace, now + TimeDelta::seconds(5)));
        assert!(!put_off.is_put_off(WorkspaceId(2), now));
    }
}
