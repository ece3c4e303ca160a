//! Tracks HTTP connections and decides which to close. A client that stalls (half a request head, or an answer it
//! does not read) is closed. When all places are taken, the peer with the most idle connections loses one. A
//! connection with a running request is never closed for that; its operation has limits of its own.
//!
//! A peer is an address, or an IPv6 /64 network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::Config;
use crate::net::ip_ranges::network;

/// Keep-alive time. Longer than that of proxies, so that they close first.
const IDLE: Duration = Duration::from_secs(75);
/// How long a client may take to close its side.
const CLOSING: Duration = Duration::from_secs(1);
/// A client that reads this much of its answer is making progress.
const STEP: usize = 4096;
/// Entries of X-Forwarded-For that are read, from the nearest.
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

/// One connection, shared by its socket, its requests and the table.
pub struct Connection {
    pub address: IpAddr,
    peer: IpAddr,
    leave: Notify,
    state: Mutex<State>,
}

struct State {
    /// Requests whose answer is not fully handed to the socket yet.
    running: usize,
    /// When the last request ended.
    quiet: Instant,
    /// When the first byte of the next request head came.
    heard: Option<Instant>,
    /// Whether there has been a request, and whether several can run at once (HTTP/2).
    known: bool,
    many: bool,
    /// Since when the client does not read its answer, and how many bytes it has read since.
    stuck: Option<(Instant, usize)>,
    closing: Option<Instant>,
}

/// A place among the connections, given back when dropped.
pub struct Seat {
    connections: Arc<Connections>,
    number: u64,
    pub connection: Arc<Connection>,
}

/// A running request, until it is dropped.
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

    /// `None` when this peer or all peers together have too many connections, all with running requests.
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

    /// Closes one idle connection, if there is one, because the system has run out of descriptors.
    pub fn make_room(&self) {
        self.open().give_up(Instant::now(), |_| true);
    }

    /// Closes connections whose deadline has passed.
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
                // With HTTP/2, not every byte begins a request.
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
    /// Closes one idle or stuck connection: of the peer that has the most of them, the one that is so for the
    /// longest time.
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
    /// Since when the connection is idle, or stuck in its answer.
    fn waits(&self) -> Option<Instant> {
        let quiet = (self.running == 0).then_some(self.quiet);
        quiet.or(self.stuck.map(|(since, _)| since))
    }
}

impl Connection {
    /// Requests that have begun and are not over, whether their client waits for them or has given them up.
    pub fn running(&self) -> usize {
        self.state().running
    }

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

    /// The socket's send buffer is full.
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

    /// Everything was written.
    pub fn took_all(&self) {
        self.state().stuck = None;
    }

    pub fn closes(&self) {
        self.state().closing.get_or_insert_with(Instant::now);
    }

    /// Completes when the connection has to close.
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

/// The client's address: the connection's own, or the one that a trusted proxy forwards.
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
    fn a_peer_over_its_limit_loses_an_idle_connection_and_never_a_request() {
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
    fn a_client_that_stalls_is_closed() {
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
    fn only_a_trusted_proxy_may_name_the_client() {
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
