//! Addresses that mail may leave from, as this node was told last: whether it may is asked for each mail, and the directory is not
//! asked for each. So many are remembered, and then all are forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use crate::ids::WorkspaceId;

const REMEMBERED: usize = 100_000;

/// Addresses that mail may leave from, and since when that is known.
#[derive(Default)]
pub(super) struct Senders(Mutex<HashMap<KnownSender, DateTime<Utc>>>);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct KnownSender {
    pub workspace: WorkspaceId,
    pub address: String,
}

impl Senders {
    pub(super) fn all(&self) -> MutexGuard<'_, HashMap<KnownSender, DateTime<Utc>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn remember(&self, sender: KnownSender, now: DateTime<Utc>) {
        let mut all = self.all();
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(sender, now);
    }

    /// A domain went from one workspace to another.
    pub(super) fn forget(&self) {
        self.all().clear();
    }
}
