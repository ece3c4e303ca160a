//! A semaphore with a share per peer and a timeout, for slow work such as DNS lookups: one peer cannot take all
//! permits. Whoever gets none in time gets a temporary error.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use rookery_base::net::ip_ranges::network;

pub struct FairSemaphore {
    all: Semaphore,
    most_of_one: usize,
    patience: Duration,
    /// Peers that hold a permit or wait for one.
    peers: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

/// A permit, given back when dropped.
pub struct Permit<'a> {
    _of_all: SemaphorePermit<'a>,
    _of_one: Option<(OwnedSemaphorePermit, Share<'a>)>,
}

/// A peer's own semaphore, removed from the map when nobody uses it.
struct Share<'a> {
    turns: &'a FairSemaphore,
    peer: IpAddr,
    own: Arc<Semaphore>,
}

impl FairSemaphore {
    pub fn new(most: usize, most_of_one: usize, patience: Duration) -> Self {
        Self { all: Semaphore::new(most), most_of_one, patience, peers: Mutex::default() }
    }

    /// `None` on timeout. Without an address only the total limit applies.
    pub async fn turn(&self, address: Option<IpAddr>) -> Option<Permit<'_>> {
        let share = address.map(|address| self.share(network(address)));
        let turn = async {
            // The peer's own permit first: waiting for it takes nothing from other peers.
            let of_one = match share {
                Some(share) => Some((share.own.clone().acquire_owned().await.ok()?, share)),
                None => None,
            };
            Some(Permit { _of_all: self.all.acquire().await.ok()?, _of_one: of_one })
        };
        timeout(self.patience, turn).await.ok()?
    }

    fn share(&self, peer: IpAddr) -> Share<'_> {
        let new = || Arc::new(Semaphore::new(self.most_of_one));
        let own = self.peers().entry(peer).or_insert_with(new).clone();
        Share { turns: self, peer, own }
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<IpAddr, Arc<Semaphore>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut peers = self.turns.peers();
        // Two references are left: the map's and this one.
        if Arc::strong_count(&self.own) <= 2 {
            peers.remove(&self.peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_peer_cannot_take_every_permit_and_leaves_no_state_behind() {
        let turns = FairSemaphore::new(3, 2, Duration::from_millis(20));
        let (here, there) = (Some("192.0.2.1".parse().unwrap()), Some("192.0.2.2".parse().unwrap()));
        let first = turns.turn(here).await.unwrap();
        let second = turns.turn(here).await.unwrap();
        assert!(turns.turn(here).await.is_none());
        let third = turns.turn(there).await.unwrap();
        assert!(turns.turn(None).await.is_none(), "all are taken");
        drop(first);
        assert!(turns.turn(None).await.is_some());
        assert!(turns.turn(here).await.is_some());
        drop((second, third));
        assert!(turns.peers().is_empty());
    }
}
