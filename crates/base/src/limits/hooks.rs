//! How often the hook of sending services may be asked: by an address, by an address for a connection it was refused at, and
//! by a connection at once. Services share their addresses, so being refused at one connection costs nothing at others.
//!
//! Each node counts by the minute in memory that a flood cannot grow. What is signed is counted apart, over all nodes.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::error::Error;
use crate::net::ip_ranges::network;

/// Requests of an address in a minute: what a large service sends for many connections.
pub const MOST_OF_AN_ADDRESS: u32 = 3000;
/// Requests of an address in a minute that are refused at one connection.
pub const MOST_REFUSED: u32 = 60;
/// Requests of one connection that are being stored.
pub const MOST_AT_ONCE: u32 = 4;
/// What is counted at the same time.
const COUNTED: usize = 50_000;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Address(IpAddr),
    /// At a place, whether a connection is there or not.
    Refused(IpAddr, i64),
    /// A refusal that is written down.
    Noted(i64),
}

/// Counts in two halves: when the newer one is full, it becomes the older, and what was in that is forgotten.
#[derive(Default)]
struct Counts {
    newer: HashMap<Key, (i64, u32)>,
    older: HashMap<Key, (i64, u32)>,
}

#[derive(Default)]
pub struct HookLimit {
    counts: Mutex<Counts>,
    at_once: Arc<Mutex<HashMap<i64, u32>>>,
}

/// A place among the requests of a connection, given back when dropped.
pub struct Turn {
    at_once: Arc<Mutex<HashMap<i64, u32>>>,
    connection: i64,
}

impl HookLimit {
    /// Before anything of a request is looked at. `place` is where it wants to go.
    pub fn arrives(&self, asker: IpAddr, place: i64, now: DateTime<Utc>) -> Result<(), Error> {
        let asker = network(asker);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.seen(Key::Refused(asker, place), now) >= MOST_REFUSED {
            return Err(slow_down(
                "Too many requests were refused here. Check the key of the connection.",
                now,
            ));
        }
        if counts.add(Key::Address(asker), now) <= MOST_OF_AN_ADDRESS {
            Ok(())
        } else {
            Err(slow_down("Too many requests from this address. Slow down to 3000 a minute.", now))
        }
    }

    pub fn refused(&self, asker: IpAddr, place: i64, now: DateTime<Utc>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(Key::Refused(network(asker), place), now);
    }

    /// Whether a refusal should be written down: one a minute for each connection, however many there are.
    pub fn should_note(&self, connection: i64, now: DateTime<Utc>) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(Key::Noted(connection), now) == 1
    }

    /// A place for a request of this connection, so that no connection has all of the database.
    pub fn turn(&self, connection: i64) -> Result<Turn, Error> {
        let mut at_once = self.at_once.lock().unwrap_or_else(PoisonError::into_inner);
        let running = at_once.entry(connection).or_default();
        if *running >= MOST_AT_ONCE {
            let sentence = format!("Too many requests at once. Send at most {MOST_AT_ONCE}.");
            return Err(Error::SlowDown { sentence, retry_after: Duration::from_secs(1) });
        }
        *running += 1;
        Ok(Turn { at_once: self.at_once.clone(), connection })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut at_once = self.at_once.lock().unwrap_or_else(PoisonError::into_inner);
        match at_once.get_mut(&self.connection) {
            Some(running) if *running > 1 => *running -= 1,
            _ => {
                at_once.remove(&self.connection);
            }
        }
    }
}

impl Counts {
    fn seen(&self, key: Key, now: DateTime<Utc>) -> u32 {
        let counted = self.newer.get(&key).or_else(|| self.older.get(&key));
        counted.filter(|(minute, _)| *minute == minute_of(now)).map_or(0, |(_, count)| *count)
    }

    fn add(&mut self, key: Key, now: DateTime<Utc>) -> u32 {
        let count = self.seen(key, now).saturating_add(1);
        if self.newer.len() >= COUNTED / 2 && !self.newer.contains_key(&key) {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(key, (minute_of(now), count));
        count
    }
}

fn minute_of(now: DateTime<Utc>) -> i64 {
    now.timestamp().div_euclid(60)
}

/// Until the minute is over.
fn slow_down(sentence: &str, now: DateTime<Utc>) -> Error {
    let left = 60 - now.timestamp().rem_euclid(60) as u64;
    Error::SlowDown { sentence: sentence.to_owned(), retry_after: Duration::from_secs(left) }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn noon() -> DateTime<Utc> {
        "2031-01-06T12:00:00Z".parse().unwrap()
    }

    fn from(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn an_address_has_so_many_a_minute_and_others_have_theirs() {
        let limit = HookLimit::default();
        let came = |asker, at| (0..4000).filter(|_| limit.arrives(asker, 1, at).is_ok()).count();
        assert_eq!(came(from(1), noon()), 3000);
        assert_eq!(came(from(2), noon()), 3000);
        let next = noon() + TimeDelta::seconds(60);
        assert_eq!((came(from(1), next - TimeDelta::seconds(1)), came(from(1), next)), (0, 3000));
        match limit.arrives(from(1), 1, next + TimeDelta::seconds(50)) {
            Err(Error::SlowDown { retry_after, .. }) => assert_eq!(retry_after.as_secs(), 10),
            _ => panic!("it has had its minute"),
        }
    }

    #[test]
    fn who_is_refused_at_one_place_waits_there_and_nowhere_else() {
        let limit = HookLimit::default();
        for _ in 0..MOST_REFUSED {
            limit.arrives(from(1), 7, noon()).unwrap();
            limit.refused(from(1), 7, noon());
        }
        assert!(limit.arrives(from(1), 7, noon()).is_err());
        limit.arrives(from(1), 8, noon()).expect("another connection by the same service");
        limit.arrives(from(2), 7, noon()).expect("the service itself, while somebody else is refused");
    }

    #[test]
    fn a_connection_has_so_many_at_once_and_gives_them_back() {
        let limit = HookLimit::default();
        let mut turns: Vec<Turn> = (0..MOST_AT_ONCE).map(|_| limit.turn(1).unwrap()).collect();
        assert!(limit.turn(1).is_err());
        let _other = limit.turn(2).expect("others are not touched");
        turns.pop();
        limit.turn(1).expect("one is free");
        drop(turns);
        assert_eq!(limit.at_once.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_flood_from_everywhere_takes_so_much_memory() {
        let limit = HookLimit::default();
        for number in 0..2 * COUNTED as u32 {
            limit.arrives(IpAddr::from(number.to_be_bytes()), 1, noon()).unwrap();
        }
        let counts = limit.counts.lock().unwrap();
        assert!(counts.newer.len() + counts.older.len() <= COUNTED);
    }
}
