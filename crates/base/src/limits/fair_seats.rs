//! Seats at what a node has few of (confined children, connections to the database, file checks), shared by workspace. A
//! workspace gets another seat only while it has fewer than a share of those that are free, so some are always left for
//! others; one private link has one. Whoever waits is served by workspace, and in a workspace by asker: next is the one that
//! was served longest ago. So many of a workspace wait, and when more come, those of its busiest asker go.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::ids::{PersonId, WorkspaceId};

/// Who takes a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sitter {
    pub workspace: WorkspaceId,
    pub asker: Asker,
}

/// Who asks, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    /// Somebody of the workspace.
    Anyone,
    /// A customer, by the number of the private link that they came by.
    Link(i64),
    Person(PersonId),
    /// A program, by the beginning of the hash of its key or token.
    Program(u64),
}

impl Sitter {
    pub fn by_workspace(workspace: WorkspaceId) -> Self {
        Self { workspace, asker: Asker::Anyone }
    }

    pub fn by_link(workspace: WorkspaceId, link: i64) -> Self {
        Self { workspace, asker: Asker::Link(link) }
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
    workspaces: HashMap<WorkspaceId, Turns>,
    sitters: HashMap<Sitter, Turns>,
    waiting: Vec<Waiter>,
    turn: u64,
}

/// Of a workspace, or of one asker in it, while it sits or waits.
#[derive(Clone, Copy, Default)]
struct Turns {
    sits: usize,
    waits: usize,
    /// The number of the turn in which it was served last.
    served: u64,
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
        let seated = {
            let mut state = self.state();
            if self.may_sit(&state, sitter) {
                state.sit(sitter);
                return Some(FairSeat { seats: self.clone(), sitter });
            }
            if state.workspace(sitter).waits >= self.queue {
                // Some of them may have gone.
                state.forget_who_left();
            }
            if state.workspace(sitter).waits >= self.queue && !state.make_way_for(sitter) {
                return None;
            }
            state.change(sitter, |turns| turns.waits += 1);
            let (tell, seated) = oneshot::channel();
            state.waiting.push(Waiter { sitter, tell });
            seated
        };
        // A seat that comes just now is given back with what is dropped here.
        timeout(patience, seated).await.ok()?.ok()
    }

    /// Without waiting.
    pub fn try_take(self: &Arc<Self>, sitter: Sitter) -> Option<FairSeat> {
        let mut state = self.state();
        self.may_sit(&state, sitter).then(|| state.sit(sitter))?;
        Some(FairSeat { seats: self.clone(), sitter })
    }

    fn may_sit(&self, state: &SeatsState, sitter: Sitter) -> bool {
        let free = self.all - state.taken;
        let link_sits = matches!(sitter.asker, Asker::Link(_)) && state.asker(sitter).sits > 0;
        free > 0 && state.workspace(sitter).sits < self.for_each_free * free && !link_sits
    }

    /// Seats whoever may, workspace by workspace.
    fn serve(self: &Arc<Self>) {
        let mut missed = Vec::new();
        let mut state = self.state();
        state.forget_who_left();
        while let Some(at) = self.next(&state) {
            let Waiter { sitter, tell } = state.waiting.remove(at);
            state.sit(sitter);
            state.change(sitter, |turns| turns.waits -= 1);
            // Who has just left gives it back below, when the state is free.
            missed.extend(tell.send(FairSeat { seats: self.clone(), sitter }).err());
        }
        drop(state);
    }

    fn next(&self, state: &SeatsState) -> Option<usize> {
        let waiting = state.waiting.iter().enumerate();
        let may_sit = waiting.filter(|(_, waiter)| self.may_sit(state, waiter.sitter));
        let next = may_sit.min_by_key(|(at, Waiter { sitter, .. })| {
            (state.workspace(*sitter).served, state.asker(*sitter).served, *at)
        });
        next.map(|(at, _)| at)
    }

    fn state(&self) -> MutexGuard<'_, SeatsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeatsState {
    fn workspace(&self, sitter: Sitter) -> Turns {
        self.workspaces.get(&sitter.workspace).copied().unwrap_or_default()
    }

    fn asker(&self, sitter: Sitter) -> Turns {
        self.sitters.get(&sitter).copied().unwrap_or_default()
    }

    fn sit(&mut self, sitter: Sitter) {
        self.taken += 1;
        self.turn += 1;
        let served = self.turn;
        self.change(sitter, |turns| {
            turns.sits += 1;
            turns.served = served;
        });
    }

    fn stand_up(&mut self, sitter: Sitter) {
        self.taken -= 1;
        self.change(sitter, |turns| turns.sits -= 1);
    }

    /// True when another asker of the workspace was busier, and waits once less now: who came last goes. A person who does not wait
    /// yet has precedence of programs, because a workspace can have many of them.
    fn make_way_for(&mut self, sitter: Sitter) -> bool {
        let all = self.waiting.iter().map(|waiter| waiter.sitter).enumerate();
        let own = all.filter(|(_, other)| other.workspace == sitter.workspace);
        let busiest = own.max_by_key(|(at, other)| (self.asker(*other).waits, *at));
        let fewer = self.asker(sitter).waits + 1;
        let busier = busiest.filter(|(_, busiest)| fewer < self.asker(*busiest).waits);
        let is_first_of_person = fewer == 1 && matches!(sitter.asker, Asker::Person(_));
        let program = || {
            let mut own = self.waiting.iter().map(|waiter| waiter.sitter).enumerate().rev();
            own.find(|(_, other)| {
                other.workspace == sitter.workspace && matches!(other.asker, Asker::Program(_))
            })
        };
        let Some((last, busiest)) = busier.or_else(|| is_first_of_person.then(program).flatten()) else {
            return false;
        };
        self.waiting.remove(last);
        self.change(busiest, |turns| turns.waits -= 1);
        true
    }

    fn forget_who_left(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        for waiter in waiting {
            if waiter.tell.is_closed() {
                self.change(waiter.sitter, |turns| turns.waits -= 1);
            } else {
                self.waiting.push(waiter);
            }
        }
    }

    /// Of who neither sits nor waits afterwards nothing is remembered.
    fn change(&mut self, sitter: Sitter, change: impl Fn(&mut Turns)) {
        change_one(&mut self.workspaces, sitter.workspace, &change);
        change_one(&mut self.sitters, sitter, &change);
    }
}

fn change_one<K: Copy + Eq + Hash>(all: &mut HashMap<K, Turns>, key: K, change: &impl Fn(&mut Turns)) {
    let turns = all.entry(key).or_default();
    change(turns);
    if turns.sits == 0 && turns.waits == 0 {
        all.remove(&key);
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
        assert!(state.taken == 0 && state.workspaces.is_empty() && state.sitters.is_empty());
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
        assert_eq!((state.taken, state.workspaces.len(), state.sitters.len()), (0, 0, 0));
    }

    #[tokio::test]
    async fn in_a_workspace_a_busy_program_makes_way_for_another_and_they_take_turns() {
        let seats = FairSeats::new(2, 1, 3);
        let program = |number| Sitter { workspace: WorkspaceId(1), asker: Asker::Program(number) };
        let held = seats.try_take(program(1)).unwrap();
        let mut busy: Vec<_> = (0..3).map(|_| Box::pin(seats.take(program(1), LONG))).collect();
        assert!(busy.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        assert!(seats.take(program(1), LONG).await.is_none(), "it does not push itself out");
        let mut quiet = Box::pin(seats.take(program(2), LONG));
        assert!((&mut quiet).now_or_never().is_none(), "it waits");
        let last = busy.pop().unwrap().now_or_never().expect("its last one is refused at once");
        assert!(last.is_none());
        let mut third = Box::pin(seats.take(program(3), LONG));
        assert!((&mut third).now_or_never().is_none(), "two of it waited, so one more makes way");
        assert!(busy.pop().unwrap().now_or_never().expect("refused").is_none());
        assert!(seats.take(program(4), LONG).await.is_none(), "now nobody is busier than another");
        let mia = Sitter { workspace: WorkspaceId(1), asker: Asker::Person(PersonId(1)) };
        let mut mia = Box::pin(seats.take(mia, LONG));
        assert!((&mut mia).now_or_never().is_none(), "a person waits before a program does");
        assert!(third.now_or_never().expect("refused").is_none());
        drop((mia, held));
        let quiet = quiet.now_or_never().flatten().expect("it came last and was never served");
        assert!(busy.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        drop(quiet);
        assert!(busy.remove(0).now_or_never().flatten().is_some());
        drop(busy);
        let state = seats.state();
        assert!(state.workspaces.is_empty() && state.sitters.is_empty());
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
