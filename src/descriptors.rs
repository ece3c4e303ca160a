//! File descriptors: every connection takes one, and the system gives only so many. The limit is raised as far as we
//! may, and shared out at start, so that no door can take what another one, the database or a file needs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For what is no connection of a door, nor of the database: listeners, the log, blobs, name servers, relays, webhooks.
const RESERVE: u64 = 128;
/// A door has at least this many connections, however little there is.
const FEWEST: u64 = 16;

/// Descriptors of the two doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    pub http: u32,
    pub mail: u32,
}

/// Raises the limit as far as the system lets us, and gives it.
pub fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Whoever may not raise it goes on with what there is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// What each door may have of a limit, beside `others` of the database and of front servers: what it wants, or half of
/// the room. What one leaves is the other's.
pub fn share(limit: u64, others: u32, wanted: Shares) -> Shares {
    let room = limit.saturating_sub(RESERVE + u64::from(others)).max(2 * FEWEST);
    let (http, mail) = (u64::from(wanted.http), u64::from(wanted.mail));
    let of = |mine: u64, others: u64| mine.min((room / 2).max(room.saturating_sub(others))) as u32;
    Shares { http: of(http, mail), mail: of(mail, http) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_share_what_there_is() {
        let wanted = Shares { http: 1000, mail: 1000 };
        assert_eq!(share(20_000, 20, wanted), wanted);
        assert_eq!(share(1024, 20, wanted), Shares { http: 438, mail: 438 });
        assert_eq!(share(1024, 20, Shares { http: 1000, mail: 0 }), Shares { http: 876, mail: 0 });
        assert_eq!(share(1024, 20, Shares { http: 1000, mail: 100 }), Shares { http: 776, mail: 100 });
        assert_eq!(share(64, 20, wanted), Shares { http: 16, mail: 16 });
    }

    #[test]
    fn the_limit_is_as_high_as_it_may_be() {
        let limit = raise();
        assert_eq!(getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX), limit);
    }
}
