//! Answers that are the same for everybody who asks and cost the database something: made for all of them together, and
//! at most once a second, however many ask.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

const KEPT: Duration = Duration::from_secs(1);

pub struct Recent<T>(Mutex<Option<(Instant, T)>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Recent<T> {
    /// What was made a moment ago, or what is made now.
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
