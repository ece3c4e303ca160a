//! The shutdown signal, observed by everything that runs. On shutdown, started work is finished and the rest is
//! given back.

use tokio::sync::watch;

#[derive(Clone)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    pub fn not_yet() -> Self {
        Self(watch::Sender::new(false))
    }

    pub fn tell(&self) {
        self.0.send_replace(true);
    }

    pub fn is_told(&self) -> bool {
        *self.0.borrow()
    }

    pub async fn wait(&self) {
        // The sender lives as long as this does, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|told| *told).await;
    }
}
