//! Tracks HTTP connections and decides which to close. A client that stalls (half a request head, or an answer it
//! does not read) is closed. When all places are taken, the peer with the most connections that wait for their client
//! loses one: idle ones, and those that owe the body of a request, first the one that has been silent for the longest time.
//! What is at work here is never closed for that; its operation has limits of its own.
//!
//! A peer is an address, or an IPv6 /64 network; behind a trusted proxy, that of the client whose request it is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::Instant;

use rookery_base::config::Config;
use rookery_base::net::ip_ranges::{network, site};

/// Keep-alive time. Longer than that of proxies, so that they close first.
const IDLE: Duration = Duration::from_secs(75);
/// How long a client may take to close its side.
const CLOSING: Duration = Duration::from_secs(1);
/// A client that reads this much of its answer, or sends this much of a body, is making progress.
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
    state: Mutex<ConnectionState>,
}

struct ConnectionState {
    /// Requests whose answer is not fully handed to the socket yet.
    running: usize,
    /// When the last request ended.
    quiet: Instant,
    /// Requests whose next bytes have not come, and whose the newest is.
    owing: usize,
    /// Since when nothing worth counting of their bodies has come: the bytes that came since then are too few.
    silent: Instant,
    brought: usize,
    asker: IpAddr,
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
pub struct ConnectionSeat {
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

    pub fn from_config(config: &Config) -> Arc<Self> {
        Self::new(
            config.http_connections,
            config.http_peer_connections,
            config.http_patience(),
            config.trusted_proxies.clone(),
        )
    }

    /// `None` when this peer or all peers together have too many connections, all with requests that are worked on.
    pub fn seat(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionSeat> {
        self.seat_at(address, Instant::now())
    }

    fn seat_at(self: &Arc<Self>, address: IpAddr, now: Instant) -> Option<ConnectionSeat> {
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
        let state = ConnectionState {
            running: 0,
            quiet: now,
            owing: 0,
            silent: now,
            brought: 0,
            asker: peer,
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
        Some(ConnectionSeat { connections: self.clone(), number, connection })
    }

    /// Closes one connection that waits for its client, if there is one, because the system has run out of descriptors.
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
    /// Closes one connection that waits for its client. First one that is closing anyway; else of the peer that has the
    /// most of them one that is idle, or else owes a body, and has been silent for the longest time. All of a /48 of IPv6
    /// count together, before its networks do: whoever has one has 65,536 of those.
    fn give_up(&mut self, now: Instant, of: impl Fn(&Connection) -> bool) -> bool {
        let mut waiting = Vec::new();
        let (mut count, mut of_site): (HashMap<IpAddr, usize>, HashMap<IpAddr, usize>) = Default::default();
        for (number, connection) in self.all.iter().filter(|(_, connection)| of(connection)) {
            let state = connection.state();
            if let Some(since) = state.waits() {
                let is_idle = state.running == 0;
                let whose = if is_idle { connection.peer } else { state.asker };
                *count.entry(whose).or_default() += 1;
                *of_site.entry(site(whose).unwrap_or(whose)).or_default() += 1;
                let time = now.duration_since(since);
                waiting.push(WaitingConnection {
                    number: *number,
                    is_closing: state.closing.is_some(),
                    whose,
                    is_idle,
                    time,
                });
            }
        }
        let longest = waiting.iter().max_by_key(|one| {
            let of_site = of_site[&site(one.whose).unwrap_or(one.whose)];
            (one.is_closing, of_site, count[&one.whose], one.is_idle, one.time)
        });
        let Some(given_up) = longest.and_then(|one| self.all.remove(&one.number)) else { return false };
        given_up.leave.notify_one();
        true
    }
}

/// A connection that waits for its client.
struct WaitingConnection {
    number: u64,
    is_closing: bool,
    whose: IpAddr,
    is_idle: bool,
    time: Duration,
}

impl ConnectionState {
    /// Since when nothing is to be done here: the connection is idle, its client does not take an answer, or owes the
    /// bodies of all its requests.
    fn waits(&self) -> Option<Instant> {
        let quiet = (self.running == 0).then_some(self.quiet);
        let stuck = self.stuck.map(|(since, _)| since);
        quiet.or(stuck).or_else(|| (self.owing >= self.running).then_some(self.silent))
    }
}

impl Connection {
    /// Requests that have begun and are not over, whether their client waits for them or has given them up.
    pub fn running(&self) -> usize {
        self.state().running
    }

    /// A request of this client has come.
    pub fn begins(self: &Arc<Self>, many: bool, asker: IpAddr) -> Running {
        let mut state = self.state();
        if state.running == 0 {
            (state.silent, state.brought) = (Instant::now(), 0);
        }
        state.running += 1;
        state.asker = asker;
        (state.known, state.many, state.heard) = (true, many, None);
        Running(self.clone())
    }

    /// A request's next bytes have not come.
    pub fn owes(&self) {
        self.state().owing += 1;
    }

    /// They have, or nobody waits for them any more.
    pub fn owes_no_more(&self) {
        self.state().owing -= 1;
    }

    /// So much of a body has come. Who drips is as silent as before: else it would never be the one that gives way.
    pub fn brought(&self, bytes: usize) {
        self.brought_at(bytes, Instant::now());
    }

    fn brought_at(&self, bytes: usize, now: Instant) {
        let mut state = self.state();
        state.brought += bytes;
        if state.brought >= STEP {
            (state.silent, state.brought) = (now, 0);
        }
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

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
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

impl ConnectionSeat {
    pub fn proxies(&self) -> &[IpNet] {
        &self.connections.proxies
    }
}

impl Drop for ConnectionSeat {
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

    impl ConnectionSeat {
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
        let _requests =
            [second.connection.begins(false, address(1)), third.connection.begins(false, address(1))];
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
        let working = flood[0].connection.begins(false, address(1));
        let newcomer = connections.seat_at(address(3), later(2)).unwrap();
        assert_eq!(flood.iter().filter(|seat| seat.is_told_to_leave()).count(), 1);
        assert!(!honest.is_told_to_leave() && !flood[0].is_told_to_leave());
        connections.make_room();
        assert_eq!(flood.iter().filter(|seat| seat.is_told_to_leave()).count(), 1);
        drop((working, flood, newcomer, honest));
        assert!(connections.open().all.is_empty());
    }

    #[test]
    fn who_owes_a_body_gives_way_and_who_is_worked_for_does_not() {
        let connections = connections(6, 6);
        let busy = |number: u8| {
            let seat = connections.seat(address(number)).unwrap();
            let running = seat.connection.begins(false, address(number));
            (seat, running)
        };
        let honest = busy(1);
        let owing: Vec<_> = (0..5).map(|_| busy(2)).collect();
        owing.iter().for_each(|(seat, _)| seat.connection.owes());
        owing[0].0.connection.owes_no_more();
        let leaving = || owing.iter().map(|(seat, _)| seat.is_told_to_leave()).collect::<Vec<_>>();
        let first = connections.seat_at(address(3), later(1)).unwrap();
        assert_eq!(
            leaving(),
            [false, true, false, false, false],
            "the first is at work, the second owes the longest"
        );
        assert!(!honest.0.is_told_to_leave() && !first.is_told_to_leave());
    }

    #[test]
    fn behind_a_proxy_the_client_that_owes_the_most_gives_way() {
        let connections = connections(5, 1);
        let proxied = |number: u8| {
            let seat = connections.seat("127.0.0.1".parse().unwrap()).unwrap();
            let running = seat.connection.begins(false, address(number));
            seat.connection.owes();
            (seat, running)
        };
        // The oldest of all is an upload of somebody who has no other.
        let upload = proxied(1);
        let flood: Vec<_> = (0..4).map(|_| proxied(2)).collect();
        let newcomer = proxied(3);
        assert!(flood[0].0.is_told_to_leave());
        assert!(!upload.0.is_told_to_leave() && !newcomer.0.is_told_to_leave());
    }

    #[test]
    fn an_upload_that_goes_on_outlives_those_who_have_been_silent_for_a_shorter_time() {
        let connections = connections(4, 4);
        let owing = |number: u8| {
            let seat = connections.seat(address(number)).unwrap();
            let running = seat.connection.begins(false, address(number));
            seat.connection.owes();
            (seat, running)
        };
        // The oldest of all, and nobody has more than one.
        let (upload, drip, first, second) = (owing(1), owing(2), owing(3), owing(4));
        upload.0.connection.brought_at(STEP, later(60));
        drip.0.connection.brought_at(STEP - 1, later(60));
        let newcomer = connections.seat_at(address(5), later(61)).unwrap();
        assert!(!upload.0.is_told_to_leave() && !newcomer.is_told_to_leave());
        assert!(drip.0.is_told_to_leave(), "too little is nothing");
        assert!(!first.0.is_told_to_leave() && !second.0.is_told_to_leave());
    }

    #[test]
    fn networks_of_one_48_count_together() {
        let connections = connections(5, 5);
        let owing = |address: &str| {
            let address = address.parse().unwrap();
            let seat = connections.seat(address).unwrap();
            let running = seat.connection.begins(false, network(address));
            seat.connection.owes();
            (seat, running)
        };
        // The oldest, of a network of its own.
        let honest = owing("2001:db8:1::1");
        let flood: Vec<_> = (0..4).map(|number| owing(&format!("2001:db8:2:{number}::1"))).collect();
        let newcomer = connections.seat_at(address(1), later(1)).unwrap();
        assert!(!honest.0.is_told_to_leave() && !newcomer.is_told_to_leave());
        assert!(flood[0].0.is_told_to_leave());
    }

    #[test]
    fn who_has_an_answer_and_only_closes_gives_way_first() {
        let connections = connections(3, 3);
        let idle = connections.seat(address(1)).unwrap();
        let (other, closing) =
            (connections.seat(address(1)).unwrap(), connections.seat_at(address(2), later(1)).unwrap());
        closing.connection.closes();
        let _newcomer = connections.seat_at(address(3), later(2)).unwrap();
        assert!(closing.is_told_to_leave() && !idle.is_told_to_leave() && !other.is_told_to_leave());
    }

    #[test]
    fn a_client_that_stalls_is_closed() {
        let connections = connections(100, 100);
        let seat = |known: bool| {
            let seat = connections.seat(address(1)).unwrap();
            if known {
                drop(seat.connection.begins(false, address(1)));
            }
            seat
        };
        let (silent, idle, half, running, many) =
            (seat(false), seat(true), seat(true), seat(true), seat(true));
        half.connection.heard();
        drop(many.connection.begins(true, address(1)));
        many.connection.heard();
        let _request = running.connection.begins(false, address(1));
        let [stuck, slow, done] = [seat(true), seat(true), seat(true)];
        let _answers = [&stuck, &slow, &done].map(|seat| seat.connection.begins(false, address(1)));
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
