//! How often customers' pages are asked for: by one network, and by one private link. Each node counts in memory that a
//! flood cannot grow. And how many files are looked at in the same moment: each is in memory for that.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};
use crate::ids::DocumentRequestId;

const WINDOW: TimeDelta = TimeDelta::minutes(15);
/// Codes are mails, which somebody else may get.
const HOUR: TimeDelta = TimeDelta::hours(1);
/// What is counted at the same time. More are a flood from everywhere.
const COUNTED: usize = 50_000;
/// Files that are checked at once.
const AT_ONCE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visits {
    /// Pages that a network opens: an IPv4 address or an IPv6 /64.
    OfNetwork(IpAddr),
    /// Links that a network named and that are none.
    Astray(IpAddr),
    /// Files that a network sends.
    FilesOfNetwork(IpAddr),
    /// Files that are sent over a link.
    FilesOfLink(DocumentRequestId),
    /// One-time codes that go to an address because a stranger named it, by its hash.
    CodesOfAddress([u8; 32]),
    /// One-time codes that go to an address because a workspace wrote to it, by the hash of both: whoever names the address
    /// elsewhere takes none of these.
    CodesOfReader([u8; 32]),
    /// One-time codes that an IPv4 /24 or an IPv6 /64 asks for.
    CodesOfNetwork(IpAddr),
}

impl Visits {
    fn most(self) -> u32 {
        match self {
            Self::OfNetwork(_) => 1200,
            Self::Astray(_) => 60,
            Self::FilesOfNetwork(_) => 600,
            Self::FilesOfLink(_) => 200,
            Self::CodesOfAddress(_) => 3,
            Self::CodesOfReader(_) => 6,
            Self::CodesOfNetwork(_) => 20,
        }
    }

    fn window(self) -> TimeDelta {
        match self {
            Self::CodesOfAddress(_) | Self::CodesOfReader(_) | Self::CodesOfNetwork(_) => HOUR,
            _ => WINDOW,
        }
    }
}

/// Counts in two halves: when the newer one is full it becomes the older, and what was in that is forgotten at once.
#[derive(Default)]
struct Counts {
    newer: HashMap<Visits, (DateTime<Utc>, u32)>,
    older: HashMap<Visits, (DateTime<Utc>, u32)>,
}

pub struct Customers {
    counts: Mutex<Counts>,
    pub checks: Semaphore,
}

impl Default for Customers {
    fn default() -> Self {
        Self { counts: Mutex::default(), checks: Semaphore::new(AT_ONCE) }
    }
}

impl Customers {
    /// Counts one, or says when to come back.
    pub fn count(&self, visits: Visits, now: DateTime<Utc>) -> Result<()> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = counts.of(visits, now);
        if own.1 >= visits.most() {
            return Err(come_back(own.0 + visits.window() - now));
        }
        own.1 += 1;
        Ok(())
    }
}

impl Counts {
    fn of(&mut self, visits: Visits, now: DateTime<Utc>) -> &mut (DateTime<Utc>, u32) {
        if !self.newer.contains_key(&visits) {
            let known = self.older.remove(&visits).unwrap_or((now, 0));
            if self.newer.len() >= COUNTED / 2 {
                self.older = std::mem::take(&mut self.newer);
            }
            self.newer.insert(visits, known);
        }
        let own = self.newer.entry(visits).or_insert((now, 0));
        if own.0 + visits.window() <= now {
            *own = (now, 0);
        }
        own
    }
}

fn come_back(wait: TimeDelta) -> Error {
    let sentence = "That was very often. Wait a few minutes, then try again.".to_owned();
    Error::SlowDown { sentence, retry_after: wait.to_std().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_too_often_waits_and_nobody_else_does() {
        let customers = Customers::default();
        let now = DateTime::UNIX_EPOCH;
        let (mine, theirs) = (Visits::Astray([10, 0, 0, 1].into()), Visits::Astray([10, 0, 0, 2].into()));
        for _ in 0..60 {
            customers.count(mine, now).unwrap();
        }
        assert!(matches!(customers.count(mine, now), Err(Error::SlowDown { .. })));
        customers.count(theirs, now).unwrap();
        customers.count(mine, now + WINDOW).unwrap();
    }

    #[test]
    fn an_address_gets_three_codes_an_hour() {
        let (customers, now) = (Customers::default(), DateTime::UNIX_EPOCH);
        let codes = Visits::CodesOfAddress([7; 32]);
        let sent = (0..59).filter(|n| customers.count(codes, now + TimeDelta::minutes(*n)).is_ok()).count();
        assert_eq!(sent, 3);
        customers.count(codes, now + HOUR).unwrap();
    }

    #[test]
    fn a_flood_does_not_grow_what_is_remembered() {
        let customers = Customers::default();
        for n in 0..(2 * COUNTED as i64) {
            customers.count(Visits::FilesOfLink(DocumentRequestId(n)), DateTime::UNIX_EPOCH).unwrap();
        }
        let counts = customers.counts.lock().unwrap();
        assert!(counts.newer.len() + counts.older.len() <= COUNTED);
    }
}
