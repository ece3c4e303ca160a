//! Seats at what a node has few of (confined children, connections to the database, file checks), shared by workspace. A
//! workspace gets another seat only while it has fewer than a share of those that are free, so some are always left for
//! others; one private link has one. Whoever waits is served by workspace: next is the one that was served longest ago.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::ids::WorkspaceId;

/// Who takes a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sitter {
    pub workspace: WorkspaceId,
    /// The private link that a customer came by, by its number.
    pub link: Option<i64>,
}

impl Sitter {
    pub fn by_workspace(workspace: WorkspaceId) -> Self {
        Self { workspace, link: None }
    }

    pub fn by_link(workspace: WorkspaceId, link: i64) -> Self {
        Self { workspace, link: Some(link) }
    }
}

pub struct FairSeats {
    all: usize,
    /// A workspace gets another seat while it has fewer than this many for each free one.
    for_each_free: usize,
    /// How many of one workspace wait.
    queue: usize,
    state: Mutex<SeatsState>,
}

#[derive(Default)]
struct SeatsState {
    taken: usize,
    own: HashMap<WorkspaceId, usize>,
    links: HashSet<(WorkspaceId, i64)>,
    waiting: Vec<Waiter>,
    waiting_of: HashMap<WorkspaceId, usize>,
    /// When workspaces were served last that have a seat or wait, by the number of the turn.
    served: HashMap<WorkspaceId, u64>,
    turn: u64,
}

struct Waiter {
    sitter: Sitter,
    tell: oneshot::Sender<FairSeat>,
}

/// Given back when dropped.
pub struct FairSeat {
    seats: Arc<FairSeats>,
    sitter: Sitter,
}

impl FairSeats {
    pub fn new(all: usize, for_each_free: usize, queue: usize) -> Arc<Self> {
        Arc::new(Self { all: all.max(1), for_each_free, queue, state: Mutex::default() })
    }

    /// Nothing when there is none for so long, or when many of its workspace wait already.
    pub async fn take(self: &Arc<Self>, sitter: Sitter, patience: Duration) -> Option<FairSeat> {
        let told = {
            let mut state = self.state();
            if self.may_sit(&state, sitter) {
                state.sit(sitter);
                return Some(FairSeat { seats: self.clone(), sitter });
            }
            if state.waiting_of(sitter.workspace) >= self.queue {
                // Some of them may have gone.
                state.forget_who_left();
                if state.waiting_of(sitter.workspace) >= self.queue {
                    return None;
                }
            }
            *state.waiting_of.entry(sitter.workspace).or_default() += 1;
            let (tell, told) = oneshot::channel();
            state.waiting.push(Waiter { sitter, tell });
            told
        };
        // A seat that comes just now is given back with what is dropped here.
        timeout(patience, told).await.ok()?.ok()
    }

    /// Without waiting.
    pub fn try_take(self: &Arc<Self>, sitter: Sitter) -> Option<FairSeat> {
        let mut state = self.state();
        self.may_sit(&state, sitter).then(|| state.sit(sitter))?;
        Some(FairSeat { seats: self.clone(), sitter })
    }

    fn may_sit(&self, state: &SeatsState, sitter: Sitter) -> bool {
        let free = self.all - state.taken;
        let own = state.own.get(&sitter.workspace).copied().unwrap_or_default();
        let link_sits = sitter.link.is_some_and(|link| state.links.contains(&(sitter.workspace, link)));
        free > 0 && own < self.for_each_free * free && !link_sits
    }

    /// Seats whoever may, workspace by workspace.
    fn serve(self: &Arc<Self>) {
        let mut missed = Vec::new();
        let mut state = self.state();
        state.forget_who_left();
        while let Some(at) = self.next(&state) {
            let Waiter { sitter, tell } = state.waiting.remove(at);
            state.waits_no_more(sitter.workspace);
            state.sit(sitter);
            // Who has just left gives it back below, when the state is free.
            missed.extend(tell.send(FairSeat { seats: self.clone(), sitter }).err());
        }
        drop(state);
    }

    fn next(&self, state: &SeatsState) -> Option<usize> {
        let may_sit = |waiter: &Waiter| self.may_sit(state, waiter.sitter);
        let served =
            |waiter: &Waiter| state.served.get(&waiter.sitter.workspace).copied().unwrap_or_default();
        let waiting = state.waiting.iter().enumerate().filter(|(_, waiter)| may_sit(waiter));
        waiting.min_by_key(|(at, waiter)| (served(waiter), *at)).map(|(at, _)| at)
    }

    fn state(&self) -> MutexGuard<'_, SeatsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeatsState {
    fn sit(&mut self, sitter: Sitter) {
        self.taken += 1;
        *self.own.entry(sitter.workspace).or_default() += 1;
        self.links.extend(sitter.link.map(|link| (sitter.workspace, link)));
        self.turn += 1;
        self.served.insert(sitter.workspace, self.turn);
    }

    fn stand_up(&mut self, sitter: Sitter) {
        self.taken -= 1;
        if let Some(link) = sitter.link {
            self.links.remove(&(sitter.workspace, link));
        }
        match self.own.get_mut(&sitter.workspace) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.own.remove(&sitter.workspace)),
        }
        self.forget(sitter.workspace);
    }

    fn waiting_of(&self, workspace: WorkspaceId) -> usize {
        self.waiting_of.get(&workspace).copied().unwrap_or_default()
    }

    fn forget_who_left(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        for waiter in waiting {
            if waiter.tell.is_closed() {
                self.waits_no_more(waiter.sitter.workspace);
            } else {
                self.waiting.push(waiter);
            }
        }
    }

    fn waits_no_more(&mut self, workspace: WorkspaceId) {
        match self.waiting_of.get_mut(&workspace) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.waiting_of.remove(&workspace)),
        }
        self.forget(workspace);
    }

    /// Of who neither sits nor waits nothing is remembered.
    fn forget(&mut self, workspace: WorkspaceId) {
        if !self.own.contains_key(&workspace) && !self.waiting_of.contains_key(&workspace) {
            self.served.remove(&workspace);
        }
    }
}

impl Drop for FairSeat {
    fn drop(&mut self) {
        let mut state = self.seats.state();
        state.stand_up(self.sitter);
        let somebody_waits = !state.waiting.is_empty();
        drop(state);
        if somebody_waits {
            self.seats.serve();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sitter_for(workspace: i64) -> Sitter {
        Sitter::by_workspace(WorkspaceId(workspace))
    }

    #[tokio::test]
    async fn one_workspace_leaves_seats_for_others_and_many_share_all() {
        let seats = FairSeats::new(20, 2, 100);
        let held =
            |workspace: i64| std::iter::from_fn(|| seats.try_take(sitter_for(workspace))).collect::<Vec<_>>();
        let (first, second, third) = (held(1), held(2), held(3));
        assert_eq!((first.len(), second.len(), third.len()), (14, 4, 2));
        drop(first);
        assert_eq!(held(4).len(), 10, "what is given back is shared anew");
        drop((second, third));
        let state = seats.state();
        assert!(state.taken == 0 && state.own.is_empty() && state.served.is_empty());
    }

    #[tokio::test]
    async fn a_link_has_one_seat_and_the_last_one_is_for_another_workspace() {
        let seats = FairSeats::new(2, 1, 100);
        let first = seats.try_take(Sitter::by_link(WorkspaceId(1), 7)).unwrap();
        assert!(seats.try_take(Sitter::by_link(WorkspaceId(1), 8)).is_none());
        let other = seats.try_take(Sitter::by_link(WorkspaceId(2), 7)).unwrap();
        drop((first, other));
        let seats = FairSeats::new(4, 1, 100);
        let _first = seats.try_take(Sitter::by_link(WorkspaceId(1), 7)).unwrap();
        assert!(seats.try_take(Sitter::by_link(WorkspaceId(1), 7)).is_none());
        assert!(seats.try_take(Sitter::by_link(WorkspaceId(1), 8)).is_some());
    }

    #[tokio::test]
    async fn whoever_was_served_longest_ago_is_next_and_who_left_is_passed_over() {
        let seats = FairSeats::new(2, 1, 3);
        let (one, two) = (seats.try_take(sitter_for(1)).unwrap(), seats.try_take(sitter_for(2)).unwrap());
        let mut crowd: Vec<_> = (0..3).map(|_| Box::pin(seats.take(sitter_for(1), LONG))).collect();
        assert!(crowd.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        assert!(seats.take(sitter_for(1), LONG).await.is_none(), "many of it wait already");
        let (mut gone, mut honest) =
            (Box::pin(seats.take(sitter_for(4), LONG)), Box::pin(seats.take(sitter_for(3), LONG)));
        assert!((&mut gone).now_or_never().is_none() && (&mut honest).now_or_never().is_none());
        drop(gone);
        drop(two);
        let honest = honest.now_or_never().flatten().expect("it came last and was never served");
        drop(one);
        let next = crowd.remove(0).now_or_never().flatten().expect("now it is the crowd's turn");
        assert!((&mut crowd[0]).now_or_never().is_none(), "its second has to wait");
        drop((honest, next, crowd));
        let state = seats.state();
        assert_eq!((state.taken, state.own.len()), (0, 0));
    }

    #[tokio::test]
    async fn who_gave_up_does_not_wait_any_more() {
        let seats = FairSeats::new(1, 1, 2);
        let held = seats.try_take(sitter_for(1)).unwrap();
        for _ in 0..3 {
            assert!(seats.take(sitter_for(1), Duration::from_millis(5)).await.is_none());
        }
        let mut waiting = Box::pin(seats.take(sitter_for(1), LONG));
        assert!((&mut waiting).now_or_never().is_none(), "nobody else waits, so it may");
        drop(held);
        assert!(waiting.now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn who_waited_long_enough_goes_and_takes_no_seat_along() {
        let seats = FairSeats::new(1, 1, 10);
        let held = seats.try_take(sitter_for(1)).unwrap();
        assert!(seats.take(sitter_for(2), Duration::from_millis(5)).await.is_none());
        drop(held);
        assert!(seats.try_take(sitter_for(3)).is_some());
    }
}
