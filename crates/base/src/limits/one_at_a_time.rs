//! Work that many may ask for and that is done once at a time: whoever asks while it runs gets its result. Work under another
//! key waits for its turn. It goes on when nobody waits for it any more.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, watch};

use crate::error::{Error, Result};

type Running<Key, Value> = Arc<Mutex<HashMap<Key, watch::Receiver<Option<Value>>>>>;

pub struct OneAtATime<Key, Value> {
    running: Running<Key, Value>,
    turns: Arc<Semaphore>,
}

impl<Key, Value> Default for OneAtATime<Key, Value> {
    fn default() -> Self {
        Self { running: Arc::default(), turns: Arc::new(Semaphore::new(1)) }
    }
}

impl<Key, Value> OneAtATime<Key, Value>
where
    Key: Clone + Eq + Hash + Send + 'static,
    Value: Clone + Send + Sync + 'static,
{
    /// Does the work, or waits for the one that runs under this key.
    pub async fn run(&self, key: Key, work: impl Future<Output = Value> + Send + 'static) -> Result<Value> {
        let mut result = {
            let mut running = locked(&self.running);
            match running.get(&key) {
                Some(result) => result.clone(),
                None => {
                    let (tell, result) = watch::channel(None);
                    running.insert(key.clone(), result.clone());
                    let ends = Ends { running: self.running.clone(), key };
                    let turns = self.turns.clone();
                    tokio::spawn(async move {
                        let turn = turns.acquire_owned().await;
                        let value = work.await;
                        drop((ends, turn));
                        tell.send_replace(Some(value));
                    });
                    result
                }
            }
        };
        let done = result.wait_for(Option::is_some).await.map_err(Error::internal)?.clone();
        done.ok_or_else(|| Error::internal("it ended without a result"))
    }
}

/// Also when the work panics.
struct Ends<Key: Eq + Hash, Value> {
    running: Running<Key, Value>,
    key: Key,
}

impl<Key: Eq + Hash, Value> Drop for Ends<Key, Value> {
    fn drop(&mut self) {
        locked(&self.running).remove(&self.key);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn however_many_keys_there_are_one_is_worked_on() {
        let (once, at_work, most) =
            (OneAtATime::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let asking = futures::future::join_all((0..20).map(|key| {
            let (at_work, most) = (at_work.clone(), most.clone());
            once.run(key, async move {
                most.fetch_max(at_work.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                at_work.fetch_sub(1, Ordering::Relaxed);
                key
            })
        }));
        let results: Vec<usize> = asking.await.into_iter().map(Result::unwrap).collect();
        assert_eq!(results, (0..20).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn whoever_asks_while_it_runs_gets_its_result() {
        let (once, begun, go_on) =
            (OneAtATime::default(), Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let ask = || {
            let (begun, go_on) = (begun.clone(), go_on.clone());
            once.run("health", async move {
                let turn = begun.fetch_add(1, Ordering::Relaxed);
                drop(go_on.acquire().await);
                turn
            })
        };
        let asking = futures::future::join_all((0..60).map(|_| ask()));
        let (results, ()) = futures::join!(asking, async {
            tokio::task::yield_now().await;
            go_on.add_permits(1);
        });
        assert!(results.into_iter().all(|result| result.unwrap() == 0));
        assert_eq!(ask().await.unwrap(), 1, "who asks later gets a new one");
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_can_be_asked_for_again() {
        let once = OneAtATime::default();
        assert!(once.run(1, async { panic!("on purpose") }).await.is_err());
        assert_eq!(once.run(1, async { 7 }).await.unwrap(), 7);
    }
}
