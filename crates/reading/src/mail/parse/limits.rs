//! Limits of a mail, and the reasons why one is refused. Each limit is checked before the work it bounds.
//! Specification 4.14.

/// How deep multiparts may stand inside each other.
pub const MAX_DEPTH: usize = 32;
/// How many MIME parts one mail may have, containers included.
pub const MAX_PARTS: usize = 500;
/// The largest header block, of the mail or of one part.
pub const MAX_HEADER_BYTES: usize = 256 * 1024;
/// How many addresses all address headers may name together.
pub const MAX_ADDRESSES: usize = 1_000;
/// More hops than this is a loop.
pub const MAX_RECEIVED: usize = 50;
/// How many earlier mails a mail may point at.
pub const MAX_REFERENCES: usize = 50;
/// The longest Message-ID: one line of RFC 5322.
pub const MAX_MESSAGE_ID_CHARS: usize = 998;
/// Header of our mail that names the sending inbox. Mail that arrives with it is in a loop.
pub const LOOP_FIELD: &str = "X-Rookery-Loop";
/// Where a subject is cut.
pub const MAX_SUBJECT_CHARS: usize = 500;

/// Why a mail is refused. Each is a sentence for an SMTP reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("The parts of this mail are nested more than {MAX_DEPTH} levels deep.")]
    TooDeep,
    #[error("This mail has more than {MAX_PARTS} parts.")]
    TooManyParts,
    #[error("The header of this mail is larger than {MAX_HEADER_BYTES} bytes.")]
    HeaderTooLarge,
    #[error("This mail names more than {MAX_ADDRESSES} addresses.")]
    TooManyAddresses,
    #[error("This mail went through more than {MAX_RECEIVED} servers; it is in a loop.")]
    Loop,
    #[error("This is not an email: it has no header.")]
    NotMail,
    /// The only temporary refusal.
    #[error("We took as much mail of this kind today as we take in a day. Send it again tomorrow.")]
    EnoughForToday,
}
