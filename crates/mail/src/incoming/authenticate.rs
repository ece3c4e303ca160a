//! Authenticates the sender of a mail: SPF, DKIM, DMARC (RFC 9989) and ARC by `mail-auth`.
//!
//! Only our own check counts: Authentication-Results of other servers are never read. DMARC passes only for a mail
//! with exactly one From mailbox; a failed lookup is not a pass. A signature authenticates only the fields it
//! covers, so a signed mail cannot be resent with others. ARC is recorded but has no effect.

mod ask;
mod coverage;
mod judge;
mod verdict;

pub use self::ask::{Authenticator, ClientIdentity, MailEvidence};
pub use self::coverage::MailPart;
pub use self::verdict::{AuthenticationVerdict, Check, Dmarc, SenderStanding};
