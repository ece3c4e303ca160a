//! Limits per peer: connections, bytes in the spool, and protocol errors. A peer is an address or an IPv6 /64
//! network. The counts are per node and kept in memory.
//!
//! When seats become scarce, timeouts get shorter and a newcomer takes the seat of the peer with the most
//! connections that has been silent longest. A front server of our own is trusted: it has neither error limit nor
//! shorter timeouts.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use rookery_base::net::ip_ranges::network;

/// Protocol errors of one peer within the window, after which it is refused.
const MOST_FAULTS: u32 = 200;
const WINDOW: Duration = Duration::from_secs(600);
/// How long a peer counts as proven after mail of it was accepted.
const PROVEN: Duration = Duration::from_secs(3_600);
/// One seat in so many is reserved for peers that are proven or have no other connection.
const KEPT: usize = 10;
/// One peer may use at most this fraction of the spool.
const SHARE_OF_DISK: usize = 4;
/// Number of peers from which on old ones are removed.
const REMEMBERED: usize = 10_000;

pub struct Limits {
    pub connections: usize,
    pub connections_of_one: usize,
    /// Size of the spool in bytes.
    pub spooled: usize,
    /// How long a silent client is waited for.
    pub patience: Duration,
    /// Only trusted front servers connect.
    pub trusted: bool,
}

pub struct Peers {
    limits: Limits,
    began: Instant,
    taken: AtomicUsize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    peers: HashMap<IpAddr, Peer>,
    seats: HashMap<u64, Arc<Slot>>,
    /// Number of connections → number of peers that have so many.
    by_open: BTreeMap<usize, usize>,
    spooled: usize,
    next: u64,
    /// Number of peers at which stale ones are removed next.
    crowded_at: usize,
}

struct Peer {
    open: usize,
    spooled: usize,
    faults: u32,
    since: Instant,
    /// When mail of it was last accepted.
    proven: Option<Instant>,
}

struct Slot {
    id: u64,
    peer: IpAddr,
    /// When data last arrived, in milliseconds since the listener started.
    moved: AtomicU64,
    /// A mail of this connection is being stored.
    busy: AtomicBool,
    leave: Notify,
}

/// A connection's place, given back when dropped.
pub struct PeerSeat {
    peers: Arc<Peers>,
    place: Arc<Slot>,
}

/// A mail's reservation in the spool, given back when dropped.
pub struct Room {
    peers: Arc<Peers>,
    peer: IpAddr,
    bytes: usize,
}

impl Peers {
    pub fn new(limits: Limits) -> Arc<Self> {
        let (taken, known) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { limits, began: Instant::now(), taken, known })
    }

    /// `None` when this peer or all peers together have too many connections, or it made too many errors.
    pub fn seat(self: &Arc<Self>, address: IpAddr) -> Option<PeerSeat> {
        self.seat_at(address, Instant::now())
    }

    fn seat_at(self: &Arc<Self>, address: IpAddr, now: Instant) -> Option<PeerSeat> {
        let (limits, network) = (&self.limits, network(address));
        let mut known = self.known();
        known.forget(now);
        let peer = known.peers.get(&network);
        let (open, proven) = peer.map_or((0, false), |peer| (peer.open, peer.is_proven(now)));
        let shut_out = peer.is_some_and(|peer| peer.faults(now) >= MOST_FAULTS);
        if !limits.trusted && (shut_out || open >= limits.connections_of_one) {
            return None;
        }
        let kept = if proven || open == 0 || limits.trusted { 0 } else { limits.connections / KEPT };
        let is_full = known.seats.len() >= limits.connections - kept;
        if is_full && (limits.trusted || !self.make_room(&mut known, open, proven, now)) {
            return None;
        }
        known.next += 1;
        let place = Arc::new(Slot {
            id: known.next,
            peer: network,
            moved: AtomicU64::new(self.time(now)),
            busy: AtomicBool::new(false),
            leave: Notify::new(),
        });
        known.seats.insert(place.id, place.clone());
        known.opened(network, now);
        self.taken.store(known.seats.len(), Ordering::Relaxed);
        Some(PeerSeat { peers: self.clone(), place })
    }

    /// Evicts a connection of a peer that has at least two more than the newcomer, or that is not proven while the
    /// newcomer is: of the peer with the most connections, the one that has been silent longest.
    fn make_room(&self, known: &mut Known, open: usize, proven: bool, now: Instant) -> bool {
        let most = known.by_open.last_key_value().map_or(0, |(most, _)| *most);
        if most <= open + 1 && !proven {
            return false;
        }
        let candidates = known.seats.values().filter(|place| !place.busy.load(Ordering::Relaxed));
        let candidates = candidates.filter_map(|place| {
            let peer = known.peers.get(&place.peer)?;
            let is_proven = peer.is_proven(now);
            let may = peer.open > open + 1 || (proven && !is_proven);
            let silent = self.time(now).saturating_sub(place.moved.load(Ordering::Relaxed));
            may.then_some(((peer.open, !is_proven, silent), place))
        });
        let Some((_, place)) = candidates.max_by_key(|(rank, _)| *rank) else { return false };
        let place = place.clone();
        known.closed(&place);
        place.leave.notify_one();
        true
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn time(&self, now: Instant) -> u64 {
        now.duration_since(self.began).as_millis() as u64
    }
}

impl Known {
    fn opened(&mut self, network: IpAddr, now: Instant) {
        let new = || Peer { open: 0, spooled: 0, faults: 0, since: now, proven: None };
        let peer = self.peers.entry(network).or_insert_with(new);
        peer.open += 1;
        let open = peer.open;
        self.recount(open - 1, open);
    }

    fn closed(&mut self, place: &Slot) {
        if self.seats.remove(&place.id).is_none() {
            return;
        }
        let Some(peer) = self.peers.get_mut(&place.peer) else { return };
        peer.open -= 1;
        let open = peer.open;
        if open == 0 && peer.faults == 0 && peer.proven.is_none() && peer.spooled == 0 {
            self.peers.remove(&place.peer);
        }
        self.recount(open + 1, open);
    }

    fn recount(&mut self, before: usize, after: usize) {
        if let Some(peers) = self.by_open.get_mut(&before) {
            *peers -= 1;
            if *peers == 0 {
                self.by_open.remove(&before);
            }
        }
        if after > 0 {
            *self.by_open.entry(after).or_default() += 1;
        }
    }

    fn forget(&mut self, now: Instant) {
        if self.peers.len() < self.crowded_at.max(REMEMBERED) {
            return;
        }
        let is_there = |peer: &Peer| peer.open > 0 || peer.spooled > 0;
        self.peers.retain(|_, peer| is_there(peer) || peer.faults(now) > 0 || peer.is_proven(now));
        if self.peers.len() > 10 * REMEMBERED {
            self.peers.retain(|_, peer| is_there(peer));
        }
        self.crowded_at = 2 * self.peers.len();
    }
}

impl Peer {
    fn faults(&self, now: Instant) -> u32 {
        if now.duration_since(self.since) < WINDOW { self.faults } else { 0 }
    }

    fn is_proven(&self, now: Instant) -> bool {
        self.proven.is_some_and(|last| now.duration_since(last) < PROVEN)
    }
}

impl PeerSeat {
    /// Counts a protocol error.
    pub fn fault(&self) {
        let now = Instant::now();
        if let Some(peer) = self.peers.known().peers.get_mut(&self.place.peer) {
            let before = peer.faults(now);
            if before == 0 {
                peer.since = now;
            }
            peer.faults = before + 1;
        }
    }

    /// Mail of the peer was accepted.
    pub fn proven(&self) {
        if let Some(peer) = self.peers.known().peers.get_mut(&self.place.peer) {
            peer.proven = Some(Instant::now());
        }
    }

    /// Data arrived.
    pub fn moved(&self) {
        self.place.moved.store(self.peers.time(Instant::now()), Ordering::Relaxed);
    }

    /// A busy connection is not evicted: its mail is being stored.
    pub fn is_busy(&self, busy: bool) {
        self.place.busy.store(busy, Ordering::Relaxed);
    }

    /// Completes when the seat is taken away.
    pub async fn leave(&self) {
        self.place.leave.notified().await;
    }

    /// The timeout while seats are not scarce.
    pub fn whole_patience(&self) -> Duration {
        self.peers.limits.patience
    }

    /// The timeout now: a tenth from half full, a sixtieth from four fifths.
    pub fn patience(&self) -> Duration {
        let Limits { connections, patience, trusted, .. } = self.peers.limits;
        match self.peers.taken.load(Ordering::Relaxed) * 10 / connections.max(1) {
            _ if trusted => patience,
            8.. => patience / 60,
            5.. => patience / 10,
            _ => patience,
        }
    }

    /// An empty reservation in the spool.
    pub fn room(&self) -> Room {
        Room { peers: self.peers.clone(), peer: self.place.peer, bytes: 0 }
    }
}

impl Drop for PeerSeat {
    fn drop(&mut self) {
        let mut known = self.peers.known();
        known.closed(&self.place);
        self.peers.taken.store(known.seats.len(), Ordering::Relaxed);
    }
}

impl Room {
    /// Reserves more bytes. False when the peer or all peers together would exceed their limit.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let Limits { spooled, trusted, .. } = self.peers.limits;
        let share = if trusted { spooled } else { spooled / SHARE_OF_DISK };
        let mut known = self.peers.known();
        let all = known.spooled + bytes;
        let Some(peer) = known.peers.get_mut(&self.peer) else { return false };
        if all > spooled || peer.spooled + bytes > share {
            return false;
        }
        peer.spooled += bytes;
        known.spooled = all;
        self.bytes += bytes;
        true
    }

    pub fn give_back(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut known = self.peers.known();
        known.spooled -= self.bytes;
        if let Some(peer) = known.peers.get_mut(&self.peer) {
            peer.spooled -= self.bytes;
        }
        self.bytes = 0;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(connections: usize, connections_of_one: usize) -> Arc<Peers> {
        let (spooled, patience) = (1_000, Duration::from_secs(300));
        Peers::new(Limits { connections, connections_of_one, spooled, patience, trusted: false })
    }

    fn front() -> Arc<Peers> {
        let (spooled, patience) = (1_000, Duration::from_secs(300));
        Peers::new(Limits { connections: 10, connections_of_one: 10, spooled, patience, trusted: true })
    }

    fn address(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    async fn is_asked_to_leave(seat: &PeerSeat) -> bool {
        tokio::time::timeout(Duration::from_millis(1), seat.leave()).await.is_ok()
    }

    #[test]
    fn one_peer_cannot_take_every_seat() {
        let peers = peers(1_000, 2);
        let first = peers.seat(address(1)).unwrap();
        let _second = peers.seat(address(1)).unwrap();
        assert!(peers.seat(address(1)).is_none());
        assert!(peers.seat(address(2)).is_some());
        drop(first);
        assert!(peers.seat(address(1)).is_some());
    }

    #[test]
    fn a_network_of_addresses_is_one_peer() {
        let peers = peers(1_000, 1);
        let _first = peers.seat("2001:db8:1:2::1".parse().unwrap()).unwrap();
        assert!(peers.seat("2001:db8:1:2:ffff::9".parse().unwrap()).is_none());
        assert!(peers.seat("2001:db8:1:3::1".parse().unwrap()).is_some());
        let _mapped = peers.seat("::ffff:192.0.2.1".parse().unwrap()).unwrap();
        assert!(peers.seat("192.0.2.1".parse().unwrap()).is_none());
    }

    #[test]
    fn too_many_faults_shut_a_peer_out_for_a_while() {
        let peers = peers(1_000, 10);
        let seat = peers.seat(address(1)).unwrap();
        (0..MOST_FAULTS).for_each(|_| seat.fault());
        drop(seat);
        assert!(peers.seat(address(1)).is_none());
        assert!(peers.seat_at(address(1), Instant::now() + WINDOW).is_some());
    }

    #[test]
    fn a_front_server_is_neither_shut_out_nor_hurried() {
        let peers = front();
        let seats: Vec<PeerSeat> = (0..10).map(|_| peers.seat(address(1)).unwrap()).collect();
        (0..2 * MOST_FAULTS).for_each(|_| seats[0].fault());
        assert_eq!(seats[0].patience(), Duration::from_secs(300));
        assert!(peers.seat(address(1)).is_none(), "there are only so many");
        drop(seats);
        assert!(peers.seat(address(1)).is_some());
    }

    #[test]
    fn a_peer_without_errors_leaves_no_state_behind() {
        let peers = peers(1_000, 10);
        drop(peers.seat(address(1)));
        let known = peers.known();
        assert!(known.peers.is_empty() && known.seats.is_empty() && known.by_open.is_empty());
    }

    #[tokio::test]
    async fn when_all_are_taken_a_newcomer_gets_the_most_silent_seat_of_who_has_most() {
        let peers = peers(10, 10);
        let few: Vec<PeerSeat> = (0..4).map(|_| peers.seat(address(1)).unwrap()).collect();
        let many: Vec<PeerSeat> = (0..5).map(|_| peers.seat(address(2)).unwrap()).collect();
        assert!(peers.seat(address(1)).is_none(), "the last is kept for others");
        let _last = peers.seat(address(3)).unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        many.iter().enumerate().filter(|(number, _)| *number != 2).for_each(|(_, seat)| seat.moved());
        let _newcomer = peers.seat(address(4)).unwrap();
        assert!(is_asked_to_leave(&many[2]).await);
        assert!(!is_asked_to_leave(&few[0]).await && !is_asked_to_leave(&many[0]).await);
        // Four and four: a peer with three gets none of them.
        assert!(peers.seat(address(1)).is_none());
        many[0].is_busy(true);
        drop(many);
        assert_eq!(peers.known().seats.len(), 6);
    }

    #[tokio::test]
    async fn a_proven_peer_gets_the_seat_of_an_unproven_one() {
        let peers = peers(3, 3);
        peers.seat(address(9)).unwrap().proven();
        let strangers: Vec<PeerSeat> = (0..3).map(|number| peers.seat(address(number)).unwrap()).collect();
        assert!(peers.seat(address(4)).is_none(), "nobody has more than one");
        let _known = peers.seat(address(9)).unwrap();
        let mut left = 0;
        for seat in &strangers {
            left += usize::from(is_asked_to_leave(seat).await);
        }
        assert_eq!(left, 1);
    }

    #[test]
    fn the_fewer_seats_are_free_the_shorter_the_patience() {
        let peers = peers(10, 10);
        let mut seats = Vec::new();
        let patience: Vec<u64> = (0..10)
            .map(|number| {
                seats.push(peers.seat(address(number)).unwrap());
                seats[0].patience().as_secs()
            })
            .collect();
        assert_eq!(patience, [300, 300, 300, 300, 30, 30, 30, 5, 5, 5]);
    }

    #[test]
    fn one_peer_cannot_fill_the_spool() {
        let peers = peers(10, 10);
        let seats: Vec<PeerSeat> = (0..5).map(|number| peers.seat(address(number)).unwrap()).collect();
        let mut rooms: Vec<Room> = seats.iter().map(PeerSeat::room).collect();
        assert!(rooms[0].grow(200) && !rooms[0].grow(100), "a quarter for each");
        let taken = rooms.iter_mut().skip(1).filter_map(|room| room.grow(250).then_some(250)).sum::<usize>();
        assert_eq!(taken, 750, "and no more than there is");
        drop(rooms.remove(1));
        assert!(rooms[3].grow(250));
    }
}
