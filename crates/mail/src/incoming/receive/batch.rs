//! Batches mail that starts conversations: mails that arrive at the same time for one workspace are stored in one
//! transaction, because most of its cost does not depend on their number. There is no delay: while one batch is
//! being stored the next one collects, and a full one is stored in parallel; a mail that comes alone is a batch of
//! one. A batch that fails is stored mail by mail.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::files::SMALL;
use super::{deliver, deliver_lot};
use crate::incoming::delivery::{Delivery, Incoming, Received};
use crate::incoming::thread::names_nothing;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_reading::mail::parse::ParsedMail;

/// Mails per transaction.
const MOST: usize = 50;
/// Waiting mails from which on a parallel batch starts. Smaller batches would cost PostgreSQL more than they gain.
const FULL: usize = 10;
/// Concurrent batches of one workspace.
const AT_ONCE: usize = 2;

/// Waiting mail by workspace. An entry exists while a task stores mail of that workspace.
#[derive(Default)]
pub struct Batcher(Mutex<HashMap<WorkspaceId, Gathering>>);

#[derive(Default)]
struct Gathering {
    waiting: Vec<Waiting>,
    /// Tasks that store this workspace's mail.
    at_work: usize,
}

impl Gathering {
    /// Whether one more task is needed beside `others`.
    fn needs_one_beside(&self, others: usize) -> bool {
        let waiting = self.waiting.len();
        waiting > 0 && (others == 0 || (others < AT_ONCE && waiting >= FULL))
    }
}

struct Waiting {
    delivery: Delivery,
    mail: Arc<ParsedMail>,
    answer: oneshot::Sender<Result<Received>>,
}

impl Waiting {
    fn incoming(&self) -> Incoming<'_> {
        Incoming { delivery: &self.delivery, mail: &self.mail }
    }
}

impl Batcher {
    /// Stores a parsed mail, as `deliver` does.
    pub async fn deliver(
        self: &Arc<Self>,
        app: &Arc<App>,
        workspace: WorkspaceId,
        delivery: Delivery,
        mail: Arc<ParsedMail>,
    ) -> Result<Received> {
        if !can_wait(&delivery, &mail) {
            return deliver(app, workspace, Incoming { delivery: &delivery, mail: &mail }).await;
        }
        let (answer, outcome) = oneshot::channel();
        let waiting = Waiting { delivery, mail, answer };
        if self.joins(workspace, waiting) {
            tokio::spawn(self.clone().work_off(app.clone(), workspace));
        }
        outcome.await.map_err(|_| Error::internal("the task that stored the mail did not finish"))?
    }

    /// Adds a mail. True when the caller has to start a task: for the first mail, and for one that fills a batch.
    fn joins(&self, workspace: WorkspaceId, waiting: Waiting) -> bool {
        let mut gathered = self.gathered();
        let gathering = gathered.entry(workspace).or_default();
        gathering.waiting.push(waiting);
        let is_needed = gathering.needs_one_beside(gathering.at_work);
        gathering.at_work += usize::from(is_needed);
        is_needed
    }

    /// Stores batches until no mail is waiting, or so little that another task can handle it.
    async fn work_off(self: Arc<Self>, app: Arc<App>, workspace: WorkspaceId) {
        while let Some(lot) = self.next(workspace) {
            // In a task of its own, so that a panic does not stop the next batch.
            let stored = tokio::spawn(store_lot(app.clone(), workspace, lot)).await;
            if let Err(error) = stored {
                tracing::error!(%error, "a batch of mail was not stored; its senders will try again");
            }
        }
    }

    fn next(&self, workspace: WorkspaceId) -> Option<Vec<Waiting>> {
        let mut gathered = self.gathered();
        let gathering = gathered.get_mut(&workspace)?;
        if gathering.needs_one_beside(gathering.at_work - 1) {
            let most = gathering.waiting.len().min(MOST);
            return Some(gathering.waiting.drain(..most).collect());
        }
        gathering.at_work -= 1;
        if gathering.at_work == 0 {
            gathered.remove(&workspace);
        }
        None
    }

    fn gathered(&self) -> MutexGuard<'_, HashMap<WorkspaceId, Gathering>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Small mail without attachments or references to other mail: it does not depend on any other.
fn can_wait(delivery: &Delivery, mail: &ParsedMail) -> bool {
    delivery.joins.is_none()
        && mail.attachments.is_empty()
        && delivery.trace.len() + delivery.raw.len() <= SMALL
        && names_nothing(&delivery.mailbox, delivery.recipient.as_deref(), mail)
}

async fn store_lot(app: Arc<App>, workspace: WorkspaceId, lot: Vec<Waiting>) {
    let outcomes = match lot.len() {
        // Storing it alone costs the same and gives precise errors.
        1 => vec![None],
        _ => store(&app, workspace, &lot).await,
    };
    let mut alone = Vec::new();
    for (waiting, outcome) in lot.into_iter().zip(outcomes) {
        match outcome {
            Some(outcome) => drop(waiting.answer.send(outcome)),
            None => alone.push(waiting),
        }
    }
    for waiting in alone {
        let outcome = deliver(&app, workspace, waiting.incoming()).await;
        let _ = waiting.answer.send(outcome);
    }
}

/// Stores a batch in one transaction. `None` for mails that have to be stored alone: those that are answered at once, and
/// all when one is a duplicate, or PostgreSQL refused something and only the refused mail should fail. If PostgreSQL
/// cannot be reached, all fail.
async fn store(app: &App, workspace: WorkspaceId, lot: &[Waiting]) -> Vec<Option<Result<Received>>> {
    let mails: Vec<Incoming> = lot.iter().map(Waiting::incoming).collect();
    match deliver_lot(app, workspace, &mails).await {
        Ok(outcomes) => outcomes.into_iter().map(|outcome| outcome.map(Ok)).collect(),
        Err(Error::Internal(cause)) if !is_refusal(cause.as_ref()) => {
            let cause = cause.to_string();
            lot.iter().map(|_| Some(Err(Error::internal(cause.clone())))).collect()
        }
        Err(_) => lot.iter().map(|_| None).collect(),
    }
}

fn is_refusal(cause: &(dyn std::error::Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(sqlx::Error::Database(_)))
}
