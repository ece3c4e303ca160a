//! Who wrote a mail, as far as DNS can tell: SPF, DKIM, DMARC (RFC 9989) and ARC by `mail-auth`.
//!
//! Only our own check counts: what other servers wrote into the header is never read. DMARC passes only for a
//! mail with exactly one From mailbox; anything else, and any failed lookup, is not a pass. A signature vouches for
//! the fields it covers and for no others, so that a signed mail cannot be sent on with other ones. ARC is written
//! down and changes nothing.

mod ask;
mod judge;
mod signed;
mod verdict;

pub use self::ask::{Asked, Authenticator, Origin};
pub use self::signed::Part;
pub use self::verdict::{Check, Dmarc, Standing, Verdict};
