//! When keys were used and from where, kept in memory until the worker writes it down: a request pays a look into a map
//! and no statement. A key is written at most once a minute, and what a node forgets when it dies is such a minute.
//!
//! An address is kept as its network, an IPv4 /24 or an IPv6 /48: enough to know a place again, too little to know a person.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::ids::{AgentId, WorkspaceId};

/// A use so soon after the one that is noted is the same use.
const SAME: TimeDelta = TimeDelta::seconds(5);
/// How often a key is written down at most.
pub const WRITTEN_EVERY: TimeDelta = TimeDelta::minutes(1);
/// Keys that are remembered at the same time. More begin anew: their use is written a little more often.
const REMEMBERED: usize = 100_000;
const LONGEST_CLIENT: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    pub agent: AgentId,
    pub at: DateTime<Utc>,
    pub network: String,
    /// What it calls itself: `curl/8.14.1`.
    pub client: String,
}

#[derive(Default)]
pub struct KeyUses(Mutex<HashMap<(WorkspaceId, AgentId), Noted>>);

struct Noted {
    at: DateTime<Utc>,
    from: IpAddr,
    client: String,
    /// The newest use that was given to be written.
    written: Option<DateTime<Utc>>,
}

impl KeyUses {
    /// `from` is asked only when it is needed.
    pub fn note(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
        now: DateTime<Utc>,
        from: impl FnOnce() -> (IpAddr, String),
    ) {
        let mut uses = self.uses();
        let written = match uses.get(&(workspace, agent)) {
            Some(noted) if now - noted.at < SAME => return,
            Some(noted) => noted.written,
            None => None,
        };
        if uses.len() >= REMEMBERED {
            uses.clear();
        }
        let (from, named) = from();
        let client = client(&named);
        uses.insert((workspace, agent), Noted { at: now, from, client, written });
    }

    /// What is to be written now, by workspace.
    pub fn due(&self, now: DateTime<Utc>) -> HashMap<WorkspaceId, Vec<KeyUse>> {
        let mut due: HashMap<WorkspaceId, Vec<KeyUse>> = HashMap::new();
        for ((workspace, agent), noted) in self.uses().iter_mut() {
            let is_due =
                noted.written.is_none_or(|written| noted.at > written && now - written >= WRITTEN_EVERY);
            if is_due {
                noted.written = Some(noted.at);
                due.entry(*workspace).or_default().push(KeyUse {
                    agent: *agent,
                    at: noted.at,
                    network: network(noted.from),
                    client: noted.client.clone(),
                });
            }
        }
        due
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<(WorkspaceId, AgentId), Noted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            format!("{}/24", Ipv4Addr::new(first, second, third, 0))
        }
        IpAddr::V6(address) => {
            let [first, second, third, ..] = address.segments();
            format!("{}/48", Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0))
        }
    }
}

/// The first product that it names, and only letters that products are called by: it comes from anybody.
fn client(named: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || "._/-+".contains(*letter);
    named.chars().take_while(plain).take(LONGEST_CLIENT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(address: &str, client: &str) -> impl FnOnce() -> (IpAddr, String) {
        let noted = (address.parse().unwrap(), client.to_owned());
        || noted
    }

    #[test]
    fn a_key_is_written_at_most_once_a_minute_and_only_when_it_was_used_again() {
        let (uses, key) = (KeyUses::default(), (WorkspaceId(1), AgentId(2)));
        let noon: DateTime<Utc> = "2031-01-06T12:00:00Z".parse().unwrap();
        let mut written = Vec::new();
        for second in 0..180 {
            let now = noon + TimeDelta::seconds(second);
            // Twice a second, and in the third minute not at all.
            for _ in 0..2 {
                if second < 120 {
                    uses.note(key.0, key.1, now, from("203.0.113.77", "curl/8.14.1"));
                }
            }
            if uses.due(now).values().flatten().next().is_some() {
                written.push(second);
            }
        }
        assert_eq!(written, [0, 60, 120]);
    }

    #[test]
    fn addresses_are_networks_and_names_are_plain() {
        let told = ["203.0.113.77", "::ffff:203.0.113.77", "2001:db8:1:2::3"];
        let networks = told.map(|address| network(address.parse().unwrap()));
        assert_eq!(networks, ["203.0.113.0/24", "203.0.113.0/24", "2001:db8:1::/48"]);
        let named = ["curl/8.14.1", "Claude-Code/2.1 (external)", "<script>alert(1)</script>", ""];
        assert_eq!(named.map(client), ["curl/8.14.1", "Claude-Code/2.1", "", ""]);
        assert_eq!(client(&"x".repeat(500)).len(), LONGEST_CLIENT);
    }
}
