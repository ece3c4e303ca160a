//! Limits log lines about requests without a valid key: so many per address and minute, and one with the number
//! that was left out. It only limits logging. Nobody is locked out, because others may share the address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(60);
/// Log lines per address and window.
const MOST_LINES: u32 = 60;
/// Addresses that are counted.
const MOST_ADDRESSES: usize = 10_000;

#[derive(Default)]
pub struct UnauthorizedLog(Mutex<HashMap<Option<IpAddr>, CountedRefusals>>);

struct CountedRefusals {
    since: Instant,
    count: u32,
}

impl UnauthorizedLog {
    /// Counts one, and says whether it should be logged.
    pub fn should_log(&self, asker: Option<IpAddr>) -> bool {
        self.should_log_at(asker, Instant::now())
    }

    fn should_log_at(&self, asker: Option<IpAddr>, now: Instant) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_ADDRESSES && !counts.contains_key(&asker) {
            counts.clear();
        }
        let counted = counts.entry(asker).or_insert(CountedRefusals { since: now, count: 0 });
        if now.duration_since(counted.since) >= WINDOW {
            if let Some(unsaid) = counted.count.checked_sub(MOST_LINES).filter(|unsaid| *unsaid > 0) {
                let from = asker.map(|asker| asker.to_string());
                tracing::warn!(from, unsaid, "many requests without a valid key came from one address");
            }
            *counted = CountedRefusals { since: now, count: 0 };
        }
        counted.count = counted.count.saturating_add(1);
        counted.count <= MOST_LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_limited_per_address_and_minute() {
        let refusals = UnauthorizedLog::default();
        let (here, there) = ("192.0.2.1".parse().ok(), "192.0.2.2".parse().ok());
        let now = Instant::now();
        let lines = |asker, now| (0..1000).filter(|_| refusals.should_log_at(asker, now)).count();
        assert_eq!((lines(here, now), lines(there, now), lines(here, now)), (60, 60, 0));
        assert_eq!((lines(here, now + WINDOW), lines(None, now + WINDOW)), (60, 60));
    }
}
