//! Places for what holds a connection while nothing happens: a body that is still coming, a call that waits for news. One
//! owner has so many, all owners together so many. A newcomer always gets a place: when there is none, whoever has the most
//! gives up the one held for the longest time, so that a crowd takes places from itself first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub struct Places<Owner: Copy + Eq + Hash> {
    all: usize,
    of_one: usize,
    taken: Mutex<TakenPlaces<Owner>>,
}

struct TakenPlaces<Owner> {
    newest: u64,
    /// In the order in which they were taken.
    places: BTreeMap<u64, (Owner, Arc<Notify>)>,
    count: HashMap<Owner, usize>,
}

/// Given back when dropped.
pub struct HeldPlace<Owner: Copy + Eq + Hash> {
    places: Arc<Places<Owner>>,
    number: u64,
    leave: Arc<Notify>,
}

impl<Owner: Copy + Eq + Hash> Places<Owner> {
    pub fn new(all: usize, of_one: usize) -> Arc<Self> {
        let taken = TakenPlaces { newest: 0, places: BTreeMap::new(), count: HashMap::new() };
        Arc::new(Self { all: all.max(1), of_one: of_one.max(1), taken: Mutex::new(taken) })
    }

    pub fn take(self: &Arc<Self>, owner: Owner) -> HeldPlace<Owner> {
        self.seat(&mut self.taken(), owner)
    }

    fn seat(self: &Arc<Self>, taken: &mut TakenPlaces<Owner>, owner: Owner) -> HeldPlace<Owner> {
        if taken.count_of(&owner) >= self.of_one {
            taken.give_up_oldest(&owner);
        }
        if taken.places.len() >= self.all
            && let Some(most) = taken.largest()
        {
            taken.give_up_oldest(&most);
        }
        taken.newest += 1;
        let (number, leave) = (taken.newest, Arc::new(Notify::new()));
        taken.places.insert(number, (owner, leave.clone()));
        *taken.count.entry(owner).or_default() += 1;
        HeldPlace { places: self.clone(), number, leave }
    }

    /// For who can do without one: nothing is taken from its own, which would only ask again and take it back, nor from who
    /// has as many.
    pub fn try_take(self: &Arc<Self>, owner: Owner) -> Option<HeldPlace<Owner>> {
        let mut taken = self.taken();
        let own = taken.count_of(&owner);
        let is_full = taken.places.len() >= self.all;
        let most = taken.count.values().copied().max().unwrap_or_default();
        let may = own < self.of_one && (!is_full || own + 1 < most);
        may.then(|| self.seat(&mut taken, owner))
    }

    fn taken(&self) -> MutexGuard<'_, TakenPlaces<Owner>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Owner: Copy + Eq + Hash> TakenPlaces<Owner> {
    fn count_of(&self, owner: &Owner) -> usize {
        self.count.get(owner).copied().unwrap_or_default()
    }

    /// Of those that have the most, who took one first.
    fn largest(&self) -> Option<Owner> {
        let most = self.count.values().copied().max()?;
        self.places.values().map(|(owner, _)| *owner).find(|owner| self.count_of(owner) == most)
    }

    fn give_up_oldest(&mut self, owner: &Owner) {
        let oldest = self.places.iter().find(|(_, (other, _))| other == owner).map(|(number, _)| *number);
        if let Some(leave) = oldest.and_then(|number| self.remove(number)) {
            leave.notify_one();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Notify>> {
        let (owner, leave) = self.places.remove(&number)?;
        match self.count_of(&owner) {
            0 | 1 => drop(self.count.remove(&owner)),
            own => drop(self.count.insert(owner, own - 1)),
        }
        Some(leave)
    }
}

impl<Owner: Copy + Eq + Hash> HeldPlace<Owner> {
    /// Completes when a newcomer has it.
    pub async fn given_up(&self) {
        self.leave.notified().await;
    }
}

impl<Owner: Copy + Eq + Hash> Drop for HeldPlace<Owner> {
    fn drop(&mut self) {
        self.places.taken().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    impl HeldPlace<char> {
        fn is_given_up(&self) -> bool {
            self.given_up().now_or_never().is_some()
        }
    }

    #[test]
    fn an_owner_over_its_share_gives_up_its_own_oldest() {
        let places = Places::new(10, 2);
        let (other, first, second) = (places.take('b'), places.take('a'), places.take('a'));
        let third = places.take('a');
        assert!(first.is_given_up());
        assert!(!second.is_given_up() && !third.is_given_up() && !other.is_given_up());
    }

    #[test]
    fn who_can_do_without_takes_none_from_its_own_and_none_back() {
        let places = Places::new(4, 3);
        let own: Vec<_> = (0..3).filter_map(|_| places.try_take('a')).collect();
        assert!(places.try_take('a').is_none(), "it has its share");
        let other = places.try_take('b').unwrap();
        let newcomer = places.try_take('c').expect("of whoever has the most");
        let given_up: Vec<bool> = own.iter().map(HeldPlace::is_given_up).collect();
        assert_eq!(given_up, [true, false, false]);
        assert!(places.try_take('a').is_none() && places.try_take('b').is_none(), "nobody goes round");
        drop((own, other, newcomer));
    }

    #[test]
    fn when_all_are_taken_whoever_has_the_most_gives_one_up() {
        let places = Places::new(4, 3);
        let honest = places.take('a');
        let flood: Vec<_> = (0..3).map(|_| places.take('b')).collect();
        let newcomer = places.take('c');
        let given_up: Vec<bool> = flood.iter().map(HeldPlace::is_given_up).collect();
        assert_eq!(given_up, [true, false, false]);
        assert!(!honest.is_given_up() && !newcomer.is_given_up());
        drop((honest, flood, newcomer));
        let taken = places.taken();
        assert!(taken.places.is_empty() && taken.count.is_empty(), "nothing is remembered of who is done");
    }
}
