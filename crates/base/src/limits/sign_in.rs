//! How often somebody may try to sign in: ten failures in fifteen minutes for an account and for a network, with a pause
//! that grows from the fourth on. It ends by itself: nobody is locked out for good, and a link by mail is counted apart.
//!
//! A try counts before it is made, so that a thousand at once are no way around. Each node counts in memory that a flood
//! cannot grow.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::Error;
use crate::net::ip_ranges;

const MOST: usize = 10;
/// Links are mails: few for an address, many for an office that comes to work.
const MOST_LINKS: usize = 5;
const MOST_LINKS_OF_A_NETWORK: usize = 60;
/// Ways out to a provider write a row each.
const MOST_SSO_OF_A_NETWORK: usize = 600;
/// Programs register once, and an office sets many up in a day.
const MOST_CLIENTS_OF_A_NETWORK: usize = 60;
/// An IPv6 /48 may do as much as so many of its networks.
const NETWORKS_OF_A_SITE: usize = 5;
const WINDOW: TimeDelta = TimeDelta::minutes(15);
/// So many failures are a person who mistypes; then the pause doubles from a second.
const FREE: usize = 3;
/// What is counted at the same time. More are a flood from everywhere.
const COUNTED: usize = 50_000;

/// What is counted. An account is an address as it was typed, whether somebody has it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignInKey {
    /// Passwords tried from a network: an IPv4 address or an IPv6 /64.
    Network(IpAddr),
    /// Passwords tried for an account.
    Account([u8; 32]),
    /// Links that a network asked for.
    NetworkLinks(IpAddr),
    /// Ways out to a provider that a network began.
    NetworkSso(IpAddr),
    /// Clients that registered from a network.
    NetworkClients(IpAddr),
    /// Links that were asked for an account.
    AccountLinks([u8; 32]),
    /// What the networks of an IPv6 /48 do together.
    Site(Does, IpAddr),
}

/// What is counted by network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Does {
    Passwords,
    Links,
    Sso,
    Clients,
}

impl SignInKey {
    fn most(self) -> usize {
        match self {
            Self::Network(_) | Self::Account(_) => MOST,
            Self::AccountLinks(_) => MOST_LINKS,
            Self::NetworkLinks(_) => MOST_LINKS_OF_A_NETWORK,
            Self::NetworkSso(_) => MOST_SSO_OF_A_NETWORK,
            Self::NetworkClients(_) => MOST_CLIENTS_OF_A_NETWORK,
            Self::Site(Does::Passwords, _) => MOST * NETWORKS_OF_A_SITE,
            Self::Site(Does::Links, _) => MOST_LINKS_OF_A_NETWORK * NETWORKS_OF_A_SITE,
            Self::Site(Does::Sso, _) => MOST_SSO_OF_A_NETWORK * NETWORKS_OF_A_SITE,
            Self::Site(Does::Clients, _) => MOST_CLIENTS_OF_A_NETWORK * NETWORKS_OF_A_SITE,
        }
    }

    /// What is counted with it: whoever has a /48 has 65,536 networks.
    fn beside(self) -> Option<Self> {
        let (does, network) = match self {
            Self::Network(network) => (Does::Passwords, network),
            Self::NetworkLinks(network) => (Does::Links, network),
            Self::NetworkSso(network) => (Does::Sso, network),
            Self::NetworkClients(network) => (Does::Clients, network),
            Self::Account(_) | Self::AccountLinks(_) | Self::Site(..) => return None,
        };
        Some(Self::Site(does, ip_ranges::site(network)?))
    }

    /// Many people share a network, so only what is tried for one account slows down.
    fn pause(self, failures: usize) -> TimeDelta {
        let doubled = u32::try_from(failures.saturating_sub(FREE)).unwrap_or_default();
        match (self, doubled) {
            (_, 0) => TimeDelta::zero(),
            (Self::Account(_) | Self::AccountLinks(_), doubled) => {
                TimeDelta::seconds(1 << (doubled - 1).min(8))
            }
            _ => TimeDelta::zero(),
        }
    }
}

/// Failures in two halves: when the newer one is full, it becomes the older, and what was in that is forgotten at once.
#[derive(Default)]
struct Failures {
    newer: HashMap<SignInKey, VecDeque<DateTime<Utc>>>,
    older: HashMap<SignInKey, VecDeque<DateTime<Utc>>>,
}

#[derive(Default)]
pub struct SignInLimit(Mutex<Failures>);

impl SignInLimit {
    /// Whether another try may be made, without counting one: for what is known before a body is read.
    pub fn peek(&self, key: SignInKey, now: DateTime<Utc>) -> Result<(), Error> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = with_sites(&[key]).find_map(|key| Some((key, failures.wait(key, now)?)));
        waits.map_or(Ok(()), |(key, wait)| Err(slow_down(key, wait)))
    }

    /// Counts a try for all of these as failed, or for none when one of them has to wait.
    pub fn try_one(&self, keys: &[SignInKey], now: DateTime<Utc>) -> Result<(), Error> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = with_sites(keys)
            .filter_map(|key| Some((failures.wait(key, now)?, key)))
            .max_by_key(|(wait, _)| *wait);
        if let Some((wait, key)) = longest {
            return Err(slow_down(key, wait));
        }
        for key in with_sites(keys) {
            failures.tries_mut(key).push_back(now);
        }
        Ok(())
    }

    /// The try did not fail: it is taken back, and the account's earlier ones are forgiven.
    pub fn succeeded(&self, keys: &[SignInKey], now: DateTime<Utc>) {
        self.take_back(keys, now);
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys.iter().filter(|key| matches!(key, SignInKey::Account(_))) {
            failures.tries_mut(*key).clear();
        }
    }

    /// The try was not made.
    pub fn take_back(&self, keys: &[SignInKey], now: DateTime<Utc>) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for key in with_sites(keys) {
            let counted = failures.tries_mut(key);
            if let Some(place) = counted.iter().rposition(|at| *at == now) {
                counted.remove(place);
            }
        }
    }
}

/// These, and beside each network of IPv6 its /48.
fn with_sites(keys: &[SignInKey]) -> impl Iterator<Item = SignInKey> {
    keys.iter().flat_map(|key| [Some(*key), key.beside()]).flatten()
}

impl Failures {
    /// How long to wait before the next try, when there is a wait.
    fn wait(&mut self, key: SignInKey, now: DateTime<Utc>) -> Option<Duration> {
        if !self.newer.contains_key(&key) && !self.older.contains_key(&key) {
            return None;
        }
        let counted = self.tries_mut(key);
        while counted.front().is_some_and(|at| *at <= now - WINDOW) {
            counted.pop_front();
        }
        let free_at = if counted.len() >= key.most() {
            *counted.front()? + WINDOW
        } else {
            *counted.back()? + key.pause(counted.len())
        };
        (free_at - now).to_std().ok().filter(|wait| !wait.is_zero())
    }

    fn tries_mut(&mut self, key: SignInKey) -> &mut VecDeque<DateTime<Utc>> {
        if !self.newer.contains_key(&key) {
            let known = self.older.remove(&key).unwrap_or_default();
            if self.newer.len() >= COUNTED / 2 {
                self.older = std::mem::take(&mut self.newer);
            }
            self.newer.insert(key, known);
        }
        self.newer.entry(key).or_default()
    }
}

fn slow_down(key: SignInKey, retry_after: Duration) -> Error {
    let wait = match retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0) {
        1 => "a second".to_owned(),
        seconds @ 2..=59 => format!("{seconds} seconds"),
        60..=119 => "two minutes".to_owned(),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    };
    let sentence = match key {
        SignInKey::Network(_) | SignInKey::Account(_) | SignInKey::Site(Does::Passwords, _) => {
            format!("Too many tries. Wait {wait}, or have a sign-in link sent to your address.")
        }
        SignInKey::NetworkSso(_) | SignInKey::Site(Does::Sso, _) => {
            format!("Too many sign-ins were begun here. Wait {wait}.")
        }
        SignInKey::NetworkClients(_) | SignInKey::Site(Does::Clients, _) => {
            format!("Too many programs registered from here. Wait {wait}.")
        }
        SignInKey::NetworkLinks(_) | SignInKey::AccountLinks(_) | SignInKey::Site(Does::Links, _) => {
            format!("You’ve been sent enough links. Check your email and its spam folder, or wait {wait}.")
        }
    };
    Error::SlowDown { sentence, retry_after }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: SignInKey = SignInKey::Account([1; 32]);
    const BOB: SignInKey = SignInKey::Account([2; 32]);

    fn network(last: u8) -> SignInKey {
        SignInKey::Network(IpAddr::from([192, 0, 2, last]))
    }

    fn noon() -> DateTime<Utc> {
        "2031-01-06T12:00:00Z".parse().unwrap()
    }

    fn wait(outcome: Result<(), Error>) -> u64 {
        match outcome {
            Ok(()) => 0,
            Err(Error::SlowDown { retry_after, .. }) => retry_after.as_secs(),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn three_mistakes_are_free_then_the_pause_doubles_and_ten_in_a_window_are_the_end_of_it() {
        let limit = SignInLimit::default();
        let mut now = noon();
        let mut waits = Vec::new();
        for _ in 0..MOST {
            let asked = wait(limit.try_one(&[ADA], now));
            waits.push(asked);
            now += TimeDelta::seconds(asked as i64);
            if asked > 0 {
                limit.try_one(&[ADA], now).unwrap();
            }
        }
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32]);
        let long = wait(limit.try_one(&[ADA], now));
        assert_eq!(long, 15 * 60 - 63, "until the first one is fifteen minutes old");
        limit.try_one(&[ADA], now + TimeDelta::seconds(long as i64)).expect("it ends by itself");
        limit.try_one(&[BOB], now).expect("others are not touched");
    }

    #[test]
    fn a_network_is_counted_apart_from_accounts_and_a_success_forgives() {
        let limit = SignInLimit::default();
        for account in 0..MOST as u8 {
            limit.try_one(&[network(1), SignInKey::Account([account + 10; 32])], noon()).unwrap();
        }
        assert!(wait(limit.peek(network(1), noon())) > 0, "many accounts, one network");
        assert!(wait(limit.try_one(&[network(1), ADA], noon())) > 0);
        limit.try_one(&[network(2), ADA], noon()).expect("the account was not counted with it");
        limit.succeeded(&[network(2), ADA], noon());
        for _ in 0..50 {
            limit.try_one(&[network(2), ADA], noon()).unwrap();
            limit.succeeded(&[network(2), ADA], noon());
        }
        assert_eq!(wait(limit.peek(network(2), noon())), 0, "who signs in is not counted");
    }

    #[test]
    fn who_has_a_48_is_counted_by_it_too() {
        let limit = SignInLimit::default();
        let from = |c: u16, d: u16| SignInKey::NetworkLinks([0x2001, 0x470, c, d, 0, 0, 0, 0].into());
        let asked = (0..1000).filter(|n| limit.try_one(&[from(7, *n)], noon()).is_ok()).count();
        assert_eq!(asked, MOST_LINKS_OF_A_NETWORK * NETWORKS_OF_A_SITE);
        assert!(wait(limit.peek(from(7, 5000), noon())) > 0, "before a body is read");
        limit.try_one(&[from(8, 0)], noon()).expect("another /48");
    }

    #[test]
    fn a_thousand_tries_at_once_are_ten() {
        let limit = SignInLimit::default();
        let tried = (0..1000).filter(|_| limit.try_one(&[network(3)], noon()).is_ok()).count();
        assert_eq!(tried, MOST);
    }

    #[test]
    fn a_flood_from_everywhere_takes_so_much_memory_and_whoever_goes_on_stays_counted() {
        let limit = SignInLimit::default();
        let mut tried = 0;
        for number in 0..2 * COUNTED as u32 {
            let from = SignInKey::Network(IpAddr::from(number.to_be_bytes()));
            limit.try_one(&[from], noon()).unwrap();
            if number % 1000 == 0 {
                tried += usize::from(limit.try_one(&[network(4)], noon()).is_ok());
            }
        }
        assert_eq!(tried, MOST);
        let failures = limit.0.lock().unwrap();
        assert!(failures.newer.len() + failures.older.len() <= COUNTED + 1);
    }
}
