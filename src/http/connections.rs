//! Who is connected over HTTP, and who has to go. A request may take its time, because its operation holds it to limits
//! of its own; a client may not. One that owes us the rest of a head, or does not take its answer, is given up, and when
//! all places are taken, whoever has the most connections without a request gives one up. A request is never cut off.
//!
//! A peer is an address, or an IPv6 network of the size one customer gets.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::addresses::network;
use crate::config::Config;

/// How long a connection is kept for the next request. Longer than proxies keep theirs, so that it is they who close.
const IDLE: Duration = Duration::from_secs(75);
/// How long a client may take to close a connection that we are done with.
const CLOSING: Duration = Duration::from_secs(1);
/// A client that takes this much of its answer has moved on.
const STEP: usize = 4096;
/// Names of proxies that are looked at, from the nearest.
const MOST_PROXIES: usize = 10;

pub struct Connections {
    most: usize,
    most_of_one: usize,
    patience: Duration,
    proxies: Vec<IpNet>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    newest: u64,
    all: HashMap<u64, Arc<Connection>>,
}

/// One connection, as its socket, its requests and the others see it.
pub struct Connection {
    pub address: IpAddr,
    peer: IpAddr,
    leave: Notify,
    state: Mutex<State>,
}

struct State {
    /// Requests whose answer is not made and handed over yet.
    running: usize,
    /// Since when there is none.
    quiet: Instant,
    /// When the first byte of the next head came.
    heard: Option<Instant>,
    /// There has been a request; and whether several can run at once.
    known: bool,
    many: bool,
    /// Since when the client does not take its answer, and how much it took after all.
    stuck: Option<(Instant, usize)>,
    closing: Option<Instant>,
}

/// A place among the connections, given back when dropped.
pub struct Seat {
    connections: Arc<Connections>,
    number: u64,
    pub connection: Arc<Connection>,
}

/// A request that runs, until it is dropped.
pub struct Running(Arc<Connection>);

impl Connections {
    fn new(most: u32, most_of_one: u32, patience: Duration, proxies: Vec<IpNet>) -> Arc<Self> {
        let (most, most_of_one) = (most as usize, most_of_one as usize);
        Arc::new(Self { most, most_of_one, patience, proxies, open: Mutex::default() })
    }

    pub fn of(config: &Config) -> Arc<Self> {
        Self::new(
            config.http_connections,
            config.http_peer_connections,
            config.http_patience(),
            config.trusted_proxies.clone(),
        )
    }

    /// `None` when there are too many connections, of this peer or at all, and all of them are at work.
    pub fn seat(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        self.seat_at(address, Instant::now())
    }

    fn seat_at(self: &Arc<Self>, address: IpAddr, now: Instant) -> Option<Seat> {
        let (address, peer) = (address.to_canonical(), network(address));
        let mut open = self.open();
        let own = |connection: &Connection| connection.peer == peer;
        if !is_in(&self.proxies, address)
            && open.all.values().filter(|other| own(other)).count() >= self.most_of_one
        {
            open.give_up(now, own).then_some(())?;
        }
        if open.all.len() >= self.most {
            open.give_up(now, |_| true).then_some(())?;
        }
        open.newest += 1;
        let state = State {
            running: 0,
            quiet: now,
            heard: None,
            known: false,
            many: false,
            stuck: None,
            closing: None,
        };
        let connection =
            Arc::new(Connection { address, peer, leave: Notify::new(), state: Mutex::new(state) });
        let number = open.newest;
        open.all.insert(number, connection.clone());
        Some(Seat { connections: self.clone(), number, connection })
    }

    /// Gives up one connection without a request, when there is one: the system has no more of them.
    pub fn make_room(&self) {
        self.open().give_up(Instant::now(), |_| true);
    }

    /// Tells those to leave whose time is over.
    pub fn sweep(&self) {
        self.sweep_at(Instant::now());
    }

    fn sweep_at(&self, now: Instant) {
        for connection in self.open().all.values().filter(|connection| self.is_overdue(connection, now)) {
            connection.leave.notify_one();
        }
    }

    fn is_overdue(&self, connection: &Connection, now: Instant) -> bool {
        let state = connection.state();
        let over = |since: Instant, time: Duration| now.duration_since(since) >= time;
        let is_stuck = state.stuck.is_some_and(|(since, _)| over(since, self.patience));
        let is_closing = state.closing.is_some_and(|since| over(since, CLOSING));
        let is_late = state.running == 0
            && match state.heard {
                _ if !state.known => over(state.quiet, self.patience),
                // Where several requests share a connection, not every byte begins one.
                Some(since) if !state.many => over(since, self.patience),
                _ => over(state.quiet, IDLE),
            };
        is_stuck || is_closing || is_late
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Tells one connection without a request to leave: of the peer that has the most of them, the one that has been
    /// without for the longest time.
    fn give_up(&mut self, now: Instant, of: impl Fn(&Connection) -> bool) -> bool {
        let mut waiting = Vec::new();
        let mut count: HashMap<IpAddr, usize> = HashMap::new();
        for (number, connection) in self.all.iter().filter(|(_, connection)| of(connection)) {
            if let Some(since) = connection.state().waits() {
                waiting.push((*number, connection.peer, now.duration_since(since)));
                *count.entry(connection.peer).or_default() += 1;
            }
        }
        let longest = waiting.iter().max_by_key(|(_, peer, time)| (count[peer], *time));
        let Some(given_up) = longest.and_then(|(number, ..)| self.all.remove(number)) else { return false };
        given_up.leave.notify_one();
        true
    }
}

impl State {
    /// Since when the connection does nothing that anybody needs.
    fn waits(&self) -> Option<Instant> {
        let quiet = (self.running == 0).then_some(self.quiet);
        quiet.or(self.stuck.map(|(since, _)| since))
    }
}

impl Connection {
    /// A request has come.
    pub fn begins(self: &Arc<Self>, many: bool) -> Running {
        let mut state = self.state();
        state.running += 1;
        (state.known, state.many, state.heard) = (true, many, None);
        Running(self.clone())
    }

    /// Something was read.
    pub fn heard(&self) {
        let mut state = self.state();
        if state.running == 0 && state.heard.is_none() {
            state.heard = Some(Instant::now());
        }
    }

    /// Nothing more can be written for now.
    pub fn stuck(&self) {
        self.state().stuck.get_or_insert_with(|| (Instant::now(), 0));
    }

    /// Something was written.
    pub fn took(&self, bytes: usize) {
        self.took_at(bytes, Instant::now());
    }

    fn took_at(&self, bytes: usize, now: Instant) {
        if let Some((since, taken)) = &mut self.state().stuck {
            *taken += bytes;
            if *taken >= STEP {
                (*since, *taken) = (now, 0);
            }
        }
    }

    /// All there was is written.
    pub fn took_all(&self) {
        self.state().stuck = None;
    }

    pub fn closes(&self) {
        self.state().closing.get_or_insert_with(Instant::now);
    }

    /// Until somebody needs the place, or time is over.
    pub async fn told_to_leave(&self) {
        self.leave.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        state.quiet = Instant::now();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connections.open().all.remove(&self.number);
    }
}

/// Who asks: the address of the connection, or the one for which a proxy that we trust passes the request on.
pub fn asker(proxies: &[IpNet], address: IpAddr, headers: &HeaderMap) -> IpAddr {
    if !is_in(proxies, address) {
        return network(address);
    }
    let named = headers.get_all("x-forwarded-for").iter().rev().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.rsplit(',')).take(MOST_PROXIES);
    let mut named = named.map_while(|name| name.trim().parse::<IpAddr>().ok());
    network(named.find(|address| !is_in(proxies, *address)).unwrap_or(address))
}

fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn connections(most: u32, most_of_one: u32) -> Arc<Connections> {
        Connections::new(most, most_of_one, PATIENCE, vec!["127.0.0.0/8".parse().unwrap()])
    }

    impl Seat {
        fn is_told_to_leave(&self) -> bool {
            use futures::FutureExt;
            self.connection.told_to_leave().now_or_never().is_some()
        }
    }

    fn later(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[test]
    fn a_peer_with_too_many_gives_up_what_it_does_not_use_and_no_request() {
        let connections = connections(100, 2);
        let first = connections.seat(address(1)).unwrap();
        let second = connections.seat_at(address(1), later(1)).unwrap();
        let other = connections.seat(address(2)).unwrap();
        let third = connections.seat_at(address(1), later(2)).unwrap();
        assert!(first.is_told_to_leave() && !second.is_told_to_leave() && !other.is_told_to_leave());
        let _requests = [second.connection.begins(false), third.connection.begins(false)];
        assert!(connections.seat(address(1)).is_none(), "both are at work");
        assert!(connections.seat(address(2)).is_some());
        for _ in 0..5 {
            std::mem::forget(
                connections.seat("127.0.0.1".parse().unwrap()).expect("a proxy has many clients"),
            );
        }
    }

    #[test]
    fn when_all_places_are_taken_whoever_wastes_the_most_gives_one_up() {
        let connections = connections(5, 5);
        let honest = connections.seat(address(1)).unwrap();
        let flood: Vec<_> = (0..4).map(|_| connections.seat_at(address(2), later(1)).unwrap()).collect();
        let working = flood[0].connection.begins(false);
        let newcomer = connections.seat_at(address(3), later(2)).unwrap();
        assert_eq!(flood.iter().filter(|seat| seat.is_told_to_leave()).count(), 1);
        assert!(!honest.is_told_to_leave() && !flood[0].is_told_to_leave());
        connections.make_room();
        assert_eq!(flood.iter().filter(|seat| seat.is_told_to_leave()).count(), 1);
        drop((working, flood, newcomer, honest));
        assert!(connections.open().all.is_empty());
    }

    #[test]
    fn a_client_that_owes_us_something_is_given_up() {
        let connections = connections(100, 100);
        let seat = |known: bool| {
            let seat = connections.seat(address(1)).unwrap();
            if known {
                drop(seat.connection.begins(false));
            }
            seat
        };
        let (silent, idle, half, running, many) =
            (seat(false), seat(true), seat(true), seat(true), seat(true));
        half.connection.heard();
        drop(many.connection.begins(true));
        many.connection.heard();
        let _request = running.connection.begins(false);
        let [stuck, slow, done] = [seat(true), seat(true), seat(true)];
        let _answers = [&stuck, &slow, &done].map(|seat| seat.connection.begins(false));
        [&stuck, &slow, &done].iter().for_each(|seat| seat.connection.stuck());
        done.connection.took_all();
        slow.connection.took_at(STEP, later(6));
        stuck.connection.took_at(STEP - 1, later(6));
        connections.sweep_at(later(10));
        for (seat, leaves, what) in [
            (&silent, true, "silent"),
            (&half, true, "half a head"),
            (&stuck, true, "stuck"),
            (&slow, false, "slow"),
            (&done, false, "done"),
            (&idle, false, "idle"),
            (&many, false, "idle with several at once"),
            (&running, false, "running"),
        ] {
            assert_eq!(seat.is_told_to_leave(), leaves, "{what}");
        }
        connections.sweep_at(later(80));
        assert!(idle.is_told_to_leave() && many.is_told_to_leave() && slow.is_told_to_leave());
        assert!(!running.is_told_to_leave() && !done.is_told_to_leave());
        done.connection.closes();
        connections.sweep_at(later(1));
        assert!(done.is_told_to_leave());
    }

    #[test]
    fn a_proxy_is_believed_and_a_stranger_is_not() {
        let proxies = ["127.0.0.0/8".parse().unwrap(), "10.0.0.0/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        let here = "127.0.0.1".parse().unwrap();
        assert_eq!(asker(&proxies, here, &headers), here);
        headers.append("x-forwarded-for", HeaderValue::from_static("192.0.2.66, 192.0.2.7"));
        headers.append("x-forwarded-for", HeaderValue::from_static("2001:db8:1:2:3::4, 10.0.0.9"));
        assert_eq!(asker(&proxies, here, &headers), "2001:db8:1:2::".parse::<IpAddr>().unwrap());
        assert_eq!(asker(&proxies, address(1), &headers), address(1));
        headers.append("x-forwarded-for", HeaderValue::from_static("unknown"));
        assert_eq!(asker(&proxies, here, &headers), here, "nothing behind what cannot be read");
    }
}
