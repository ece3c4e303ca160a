//! File descriptors: every connection takes one. The limit is raised as far as the system allows and divided at
//! start, so that neither HTTP nor mail can take what the other, the database or a file needs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for everything else: listeners, the log, blobs, name servers, relays, webhooks.
const RESERVE: u64 = 128;
/// HTTP and mail get at least this many each, however low the limit is.
const FEWEST: u64 = 16;

/// Descriptors for HTTP and for mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    pub http: u32,
    pub mail: u32,
}

/// Raises the limit as far as the system allows, and returns it.
pub fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // If it may not be raised, the current limit has to do.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Divides a limit between HTTP and mail, after `others` for the database and LMTP. Each gets what it wants or
/// half of what is left; what one does not want goes to the other.
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
