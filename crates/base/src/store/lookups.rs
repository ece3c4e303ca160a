//! Questions that strangers can ask as often as they like, each with something else that they made up: answered together, a
//! statement at a time. Any number of them takes one connection and locks nobody out.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// How many are looked up in one statement.
const TOGETHER: usize = 500;

/// What was found, if anything; an error when the statement failed.
type LookupAnswer<V> = Result<Option<V>, ()>;

/// The statement, run by one of those who wait for all of them.
type LookUp<C, K, V> = fn(C, Vec<K>) -> BoxFuture<'static, Result<HashMap<K, V>>>;

/// `C` is what it is asked through.
pub struct Lookups<C, K, V> {
    look_up: LookUp<C, K, V>,
    /// In order of arrival.
    waiting: Mutex<Vec<(K, oneshot::Sender<LookupAnswer<V>>)>>,
    /// Held by whoever runs the statement for all.
    turn: AsyncMutex<()>,
}

impl<C: Clone, K: Clone + Eq + Hash, V: Clone> Lookups<C, K, V> {
    pub fn new(look_up: LookUp<C, K, V>) -> Self {
        Self { look_up, waiting: Mutex::default(), turn: AsyncMutex::default() }
    }

    pub async fn ask(&self, through: &C, key: K) -> Result<Option<V>> {
        let mut answer = self.queue(&key);
        loop {
            let _turn = tokio::select! {
                biased;
                answered = &mut answer => match answered {
                    Ok(found) => return found.map_err(|()| Error::internal("the directory does not answer")),
                    Err(_) => {
                        // The task that ran our batch was cancelled before it answered.
                        answer = self.queue(&key);
                        continue;
                    }
                },
                turn = self.turn.lock() => turn,
            };
            let batch: Vec<_> = {
                let mut waiting = self.waiting();
                let count = waiting.len().min(TOGETHER);
                waiting.drain(..count).collect()
            };
            if batch.is_empty() {
                continue;
            }
            let keys = batch.iter().map(|(key, _)| key.clone()).collect();
            let found = (self.look_up)(through.clone(), keys).await;
            let found = found.map_err(|error| tracing::warn!(%error, "a lookup failed"));
            for (key, asker) in batch {
                let answer = match &found {
                    Ok(found) => Ok(found.get(&key).cloned()),
                    Err(()) => Err(()),
                };
                // The asker may be gone.
                let _ = asker.send(answer);
            }
        }
    }

    fn queue(&self, key: &K) -> oneshot::Receiver<LookupAnswer<V>> {
        let (asker, answer) = oneshot::channel();
        self.waiting().push((key.clone(), asker));
        answer
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(K, oneshot::Sender<LookupAnswer<V>>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
