//! Who is connected, and how much each may have open or get wrong. A peer is an address, or an IPv6 network
//! of the size one customer gets. The counts are of this node and are forgotten when it stops.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Connections of all peers together.
const MOST_OPEN: usize = 1_000;
/// Faults of one peer within the window, after which it is not let in any more.
const MOST_FAULTS: u32 = 200;
const WINDOW: Duration = Duration::from_secs(600);
/// Peers that are remembered before old ones are looked for.
const REMEMBERED: usize = 10_000;

pub struct Peers {
    most_of_one: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    open: usize,
    peers: HashMap<IpAddr, Peer>,
}

struct Peer {
    open: usize,
    faults: u32,
    since: Instant,
}

/// A place among the connections, given back when dropped.
pub struct Seat {
    peers: Arc<Peers>,
    peer: IpAddr,
}

impl Peers {
    pub fn new(most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { most_of_one, known: Mutex::default() })
    }

    /// `None` when there are too many connections, of this peer or at all, or it went wrong too often.
    pub fn seat(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        self.seat_at(address, Instant::now())
    }

    fn seat_at(self: &Arc<Self>, address: IpAddr, now: Instant) -> Option<Seat> {
        let peer = network(address);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.peers.len() >= REMEMBERED {
            known.peers.retain(|_, peer| peer.open > 0 || now.duration_since(peer.since) < WINDOW);
        }
        let all = known.open;
        let entry = known.peers.entry(peer).or_insert(Peer { open: 0, faults: 0, since: now });
        if now.duration_since(entry.since) >= WINDOW {
            (entry.faults, entry.since) = (0, now);
        }
        if all >= MOST_OPEN || entry.open >= self.most_of_one || entry.faults >= MOST_FAULTS {
            return None;
        }
        entry.open += 1;
        known.open += 1;
        Some(Seat { peers: self.clone(), peer })
    }
}

impl Seat {
    /// The peer sent something it should not have.
    pub fn fault(&self) {
        let mut known = self.peers.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(peer) = known.peers.get_mut(&self.peer) {
            peer.faults += 1;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut known = self.peers.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.open -= 1;
        if let Some(peer) = known.peers.get_mut(&self.peer) {
            peer.open -= 1;
            if peer.open == 0 && peer.faults == 0 {
                known.peers.remove(&self.peer);
            }
        }
    }
}

/// Whoever has one IPv6 address has a whole /64 of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_cannot_take_every_seat() {
        let peers = Peers::new(2);
        let (here, there) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let first = peers.seat(here).unwrap();
        let _second = peers.seat(here).unwrap();
        assert!(peers.seat(here).is_none());
        assert!(peers.seat(there).is_some());
        drop(first);
        assert!(peers.seat(here).is_some());
    }

    #[test]
    fn a_network_of_addresses_is_one_peer() {
        let peers = Peers::new(1);
        let _first = peers.seat("2001:db8:1:2::1".parse().unwrap()).unwrap();
        assert!(peers.seat("2001:db8:1:2:ffff::9".parse().unwrap()).is_none());
        assert!(peers.seat("2001:db8:1:3::1".parse().unwrap()).is_some());
        let _mapped = peers.seat("::ffff:192.0.2.1".parse().unwrap()).unwrap();
        assert!(peers.seat("192.0.2.1".parse().unwrap()).is_none());
    }

    #[test]
    fn too_many_faults_shut_a_peer_out_for_a_while() {
        let peers = Peers::new(10);
        let here = "192.0.2.1".parse().unwrap();
        let seat = peers.seat(here).unwrap();
        (0..MOST_FAULTS).for_each(|_| seat.fault());
        drop(seat);
        assert!(peers.seat(here).is_none());
        assert!(peers.seat_at(here, Instant::now() + WINDOW).is_some());
    }

    #[test]
    fn nothing_is_remembered_of_a_peer_that_did_no_wrong() {
        let peers = Peers::new(10);
        drop(peers.seat("192.0.2.1".parse().unwrap()));
        assert!(peers.known.lock().unwrap().peers.is_empty());
    }
}
