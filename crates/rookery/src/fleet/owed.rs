//! What nodes of other cells owe this one: beginnings of answers, by cell. A cell that owes too many gets no more requests,
//! and one that has been silent for a while is waited for by few: it hangs, and whoever comes is told so at once. Of what one
//! cell may owe, one workspace gets a share.
//!
//! While a request waits for its own client's bytes, nobody is owed anything: a client that sends slowly takes nothing of
//! what the cell's others need.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, sleep};

use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;

/// A cell that owes answers and has given none for so long is silent. Longer than any request waits for something to happen.
const SILENT: Duration = Duration::from_secs(20);
/// Who finds out whether a silent cell answers again.
const MOST_OF_SILENT: usize = 10;
/// One workspace may be owed this part of what a cell may owe: more than its calls that wait for events can take.
const SHARE: usize = 2;
/// How often it is looked whether an answer is late.
const LOOK: Duration = Duration::from_millis(250);

pub struct Owed {
    most: usize,
    cells: Mutex<HashMap<String, Arc<Mutex<CellDebts>>>>,
}

#[derive(Default)]
struct CellDebts {
    debts: usize,
    /// Of those, the requests of each workspace. What is about no workspace is not among them.
    of_one: HashMap<WorkspaceId, usize>,
    /// Since when answers are owed without one being given.
    silent_since: Option<Instant>,
}

/// One answer that has not begun.
pub struct Debt {
    of_cell: Arc<Mutex<CellDebts>>,
    workspace: Option<WorkspaceId>,
    /// What the workspace may be owed.
    share: usize,
    /// Since when the cell has had something to do for it: nothing while our client has.
    since: Mutex<Option<Instant>>,
}

impl Owed {
    /// At most so many by each cell.
    pub fn new(most: usize) -> Self {
        Self { most, cells: Mutex::default() }
    }

    /// An error when the cell owes too many already, or too many to this workspace.
    pub fn begin(&self, cell: &str, workspace: Option<WorkspaceId>) -> Result<Arc<Debt>> {
        self.begin_at(cell, workspace, Instant::now())
    }

    fn begin_at(&self, cell: &str, workspace: Option<WorkspaceId>, now: Instant) -> Result<Arc<Debt>> {
        let of_cell = self.for_cell(cell);
        {
            let mut state = lock(&of_cell);
            let is_silent = state.silent_since.is_some_and(|since| now.duration_since(since) > SILENT);
            let most = if is_silent { MOST_OF_SILENT.min(self.most) } else { self.most };
            if state.debts >= most {
                return Err(Error::internal(format!("the cell {cell} owes {} answers already", state.debts)));
            }
            if state.owed_to(workspace) >= share_of(most) {
                let sentence =
                    "Too many requests of your team came at once. Try again in a moment.".to_owned();
                return Err(Error::SlowDown { sentence, retry_after: Duration::from_secs(1) });
            }
            state.owe(workspace);
        }
        let share = share_of(self.most);
        Ok(Arc::new(Debt { of_cell, workspace, share, since: Mutex::new(Some(now)) }))
    }

    /// The cell has begun an answer.
    pub fn answered(&self, cell: &str) {
        lock(&self.for_cell(cell)).silent_since = None;
    }

    fn for_cell(&self, cell: &str) -> Arc<Mutex<CellDebts>> {
        lock(&self.cells).entry(cell.to_owned()).or_default().clone()
    }
}

fn share_of(most: usize) -> usize {
    (most / SHARE).max(1)
}

impl CellDebts {
    fn owed_to(&self, workspace: Option<WorkspaceId>) -> usize {
        workspace.and_then(|workspace| self.of_one.get(&workspace)).copied().unwrap_or_default()
    }

    fn owe(&mut self, workspace: Option<WorkspaceId>) {
        self.debts += 1;
        if let Some(workspace) = workspace {
            *self.of_one.entry(workspace).or_default() += 1;
        }
        self.silent_since.get_or_insert_with(Instant::now);
    }

    fn settle(&mut self, workspace: Option<WorkspaceId>) {
        self.debts -= 1;
        match (workspace, self.owed_to(workspace)) {
            (None, _) => {}
            (Some(workspace), 0 | 1) => drop(self.of_one.remove(&workspace)),
            (Some(workspace), owed) => drop(self.of_one.insert(workspace, owed - 1)),
        }
        self.silent_since = self.silent_since.filter(|_| self.debts > 0);
    }
}

impl Debt {
    /// Until the cell has been waited for so long without a pause.
    pub async fn is_late(&self, patience: Duration) {
        while lock(&self.since).is_none_or(|since| since.elapsed() < patience) {
            sleep(LOOK.min(patience)).await;
        }
    }

    /// It is the cell's turn from now on. Not when its workspace is owed its share: bodies that were held back together and end
    /// together are more than it.
    fn is_the_cells(&self) -> bool {
        let mut since = lock(&self.since);
        if since.is_none() {
            let mut state = lock(&self.of_cell);
            if state.owed_to(self.workspace) >= self.share {
                return false;
            }
            state.owe(self.workspace);
        }
        *since = Some(Instant::now());
        true
    }

    /// It is the client's turn.
    fn is_the_clients(&self) {
        if lock(&self.since).take().is_some() {
            lock(&self.of_cell).settle(self.workspace);
        }
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        self.is_the_clients();
    }
}

/// The body of a request on its way.
pub struct Passing {
    body: Body,
    debt: Arc<Debt>,
}

impl Passing {
    pub fn new(body: Body, debt: Arc<Debt>) -> Self {
        Self { body, debt }
    }
}

impl hyper::body::Body for Passing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if polled.is_pending() {
            self.debt.is_the_clients();
        } else if !self.debt.is_the_cells() {
            return Poll::Ready(Some(Err(axum::Error::new("its workspace is owed too many answers"))));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn a_cell_that_owes_many_gets_no_more_and_a_silent_one_gets_few() {
        let owed = Owed::new(30);
        let debts: Vec<_> = (0..30).map(|_| owed.begin("west", None).unwrap()).collect();
        assert!(
            owed.begin("west", None).is_err() && owed.begin("east", None).is_ok(),
            "one cell is one cell"
        );
        drop(debts);
        let silent: Vec<_> = (0..MOST_OF_SILENT).map(|_| owed.begin("west", None).unwrap()).collect();
        let later = Instant::now() + SILENT * 2;
        assert!(owed.begin_at("west", None, later).is_err(), "nobody more waits for a silent one");
        owed.answered("west");
        assert!(owed.begin_at("west", None, later).is_ok(), "it answers again");
        drop(silent);
    }

    #[test]
    fn one_workspace_gets_a_share_of_what_a_cell_may_owe() {
        let (owed, acme, globex) = (Owed::new(20), Some(WorkspaceId(1)), Some(WorkspaceId(2)));
        let held_back = owed.begin("west", acme).unwrap();
        held_back.is_the_clients();
        let mut debts: Vec<_> = (0..10).map(|_| owed.begin("west", acme).unwrap()).collect();
        let refused = owed.begin("west", acme).err().expect("its share is taken");
        assert!(matches!(refused, Error::SlowDown { .. }), "{refused}");
        assert!(owed.begin("west", globex).is_ok() && owed.begin("west", None).is_ok(), "others are served");
        assert!(!held_back.is_the_cells(), "a body that was held back is no way around it");
        debts.pop();
        assert!(held_back.is_the_cells(), "an answer that has begun is owed no more");
        drop((debts, held_back));
        assert!(lock(&owed.for_cell("west")).of_one.is_empty());
    }

    #[tokio::test]
    async fn while_the_client_sends_slowly_the_cell_owes_nothing_and_is_not_late() {
        let (owed, patience) = (Owed::new(1), Duration::from_millis(50));
        let debt = owed.begin("west", None).unwrap();
        debt.is_the_clients();
        let other = owed.begin("west", None).expect("a slow client has no seat");
        assert!(timeout(patience * 4, debt.is_late(patience)).await.is_err());
        drop(other);
        assert!(debt.is_the_cells());
        assert!(owed.begin("west", None).is_err());
        assert!(timeout(patience * 100, debt.is_late(patience)).await.is_ok());
    }
}
