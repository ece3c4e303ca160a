//! A one-second cache for answers that are the same for every caller and cost a query. Concurrent callers wait for
//! one computation.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

const KEPT: Duration = Duration::from_secs(1);

pub struct ShortCache<T>(Mutex<Option<(Instant, T)>>);

impl<T> Default for ShortCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> ShortCache<T> {
    /// The cached value, or a new one.
    pub async fn get(&self, making: impl Future<Output = T>) -> T {
        let mut recent = self.0.lock().await;
        if let Some((made, value)) = &*recent
            && made.elapsed() < KEPT
        {
            return value.clone();
        }
        let value = making.await;
        *recent = Some((Instant::now(), value.clone()));
        value
    }
}
