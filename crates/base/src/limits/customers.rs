//! How often customers' pages are asked for: by one network, and by one private link. Each node counts in memory that a
//! flood cannot grow. And how many files are looked at in the same moment: each is in memory for that.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::{Error, Result};
use crate::ids::DocumentRequestId;
use crate::limits::fair_seats::FairSeats;
use crate::net::ip_ranges;

const WINDOW: TimeDelta = TimeDelta::minutes(15);
/// Codes are mails, which somebody else may get.
const HOUR: TimeDelta = TimeDelta::hours(1);
/// What is counted at the same time. More are a flood from everywhere.
const COUNTED: usize = 50_000;
/// Files that are checked at once, half of them of one workspace, and those of one workspace that wait.
const AT_ONCE: usize = 6;
const MOST_WAITING: usize = 64;

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
    /// Files of a link that took longer to look at than they may.
    LateFilesOfLink(DocumentRequestId),
    /// One-time codes that go to an address because a stranger named it, by its hash.
    CodesOfAddress([u8; 32]),
    /// One-time codes that go to an address because a workspace wrote to it, by the hash of both: whoever names the address
    /// elsewhere takes none of these.
    CodesOfReader([u8; 32]),
    /// One-time codes that an IPv4 /24 or an IPv6 /64 asks for.
    CodesOfNetwork(IpAddr),
    /// The same of an IPv6 /48, beside each of its networks.
    OfSite(CustomerVisit, IpAddr),
}

/// What a network asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CustomerVisit {
    Pages,
    Nowhere,
    Files,
    Codes,
}

impl Visits {
    fn most(self) -> u32 {
        match self {
            Self::OfNetwork(_) => 1200,
            Self::Astray(_) => 60,
            Self::FilesOfNetwork(_) => 600,
            Self::FilesOfLink(_) => 200,
            Self::LateFilesOfLink(_) => 2,
            Self::CodesOfAddress(_) => 3,
            Self::CodesOfReader(_) => 6,
            Self::CodesOfNetwork(_) => 20,
            Self::OfSite(CustomerVisit::Pages, _) => 6000,
            Self::OfSite(CustomerVisit::Nowhere, _) => 240,
            Self::OfSite(CustomerVisit::Files, _) => 2400,
            Self::OfSite(CustomerVisit::Codes, _) => 40,
        }
    }

    /// What is counted with it: whoever has a /48 has as many networks as they like.
    fn beside(self) -> Option<Self> {
        let (asked, network) = match self {
            Self::OfNetwork(network) => (CustomerVisit::Pages, network),
            Self::Astray(network) => (CustomerVisit::Nowhere, network),
            Self::FilesOfNetwork(network) => (CustomerVisit::Files, network),
            Self::CodesOfNetwork(network) => (CustomerVisit::Codes, network),
            _ => return None,
        };
        Some(Self::OfSite(asked, ip_ranges::site(network)?))
    }

    fn window(self) -> TimeDelta {
        match self {
            Self::CodesOfAddress(_) | Self::CodesOfReader(_) | Self::CodesOfNetwork(_) => HOUR,
            Self::OfSite(CustomerVisit::Codes, _) => HOUR,
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
    pub checks: Arc<FairSeats>,
}

impl Default for Customers {
    fn default() -> Self {
        Self { counts: Mutex::default(), checks: FairSeats::new(AT_ONCE, 1, MOST_WAITING) }
    }
}

impl Customers {
    /// Counts one, or says when to come back.
    pub fn count(&self, visits: Visits, now: DateTime<Utc>) -> Result<()> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let both = || [Some(visits), visits.beside()].into_iter().flatten();
        for one in both() {
            let (since, n) = *counts.visits_mut(one, now);
            if n >= one.most() {
                return Err(come_back(since + one.window() - now));
            }
        }
        both().for_each(|one| counts.visits_mut(one, now).1 += 1);
        Ok(())
    }

    /// Says when to come back if there were too many, and counts nothing.
    pub fn is_within(&self, visits: Visits, now: DateTime<Utc>) -> Result<()> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((since, own)) = counts.newer.get(&visits).or_else(|| counts.older.get(&visits)) else {
            return Ok(());
        };
        if *own >= visits.most() && *since + visits.window() > now {
            Err(come_back(*since + visits.window() - now))
        } else {
            Ok(())
        }
    }
}

impl Counts {
    fn visits_mut(&mut self, visits: Visits, now: DateTime<Utc>) -> &mut (DateTime<Utc>, u32) {
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
    fn who_has_a_48_is_counted_by_it_too() {
        let (customers, now) = (Customers::default(), DateTime::UNIX_EPOCH);
        let codes = |c: u16, d: u16| Visits::CodesOfNetwork([0x2001, 0x470, c, d, 0, 0, 0, 0].into());
        let sent = (0..200).filter(|n| customers.count(codes(7, *n), now).is_ok()).count();
        assert_eq!(sent, 40, "from two hundred networks of one /48");
        customers.count(codes(8, 0), now).expect("another /48");
        customers.count(Visits::CodesOfNetwork([10, 0, 0, 0].into()), now).expect("IPv4 has none");
    }

    #[test]
    fn a_link_whose_files_take_too_long_waits_for_a_while() {
        let (customers, now) = (Customers::default(), DateTime::UNIX_EPOCH);
        let (mine, theirs) = (DocumentRequestId(1), DocumentRequestId(2));
        customers.count(Visits::LateFilesOfLink(mine), now).unwrap();
        customers.is_within(Visits::LateFilesOfLink(mine), now).expect("one may be the machine's fault");
        customers.count(Visits::LateFilesOfLink(mine), now).unwrap();
        assert!(customers.is_within(Visits::LateFilesOfLink(mine), now).is_err());
        customers.is_within(Visits::LateFilesOfLink(theirs), now).unwrap();
        customers.is_within(Visits::LateFilesOfLink(mine), now + WINDOW).unwrap();
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
