//! What is still to be done when an answer is on its way: the asker does not wait for it, and hanging up does not cut it
//! off. A node that stops waits for it, as for a request.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Travels with the answer to `serve`. Answers can be cloned, work is done once.
#[derive(Clone)]
pub struct Afterwards(Arc<Mutex<Option<Work>>>);

impl Afterwards {
    pub fn add(response: &mut Response, work: impl Future<Output = ()> + Send + 'static) {
        response.extensions_mut().insert(Self(Arc::new(Mutex::new(Some(Box::pin(work))))));
    }

    pub(super) async fn run(self) {
        let work = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(work) = work {
            work.await;
        }
    }
}
