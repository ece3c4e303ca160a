//! What was written and is not there any more as it was written: only this takes a proof back or makes a file be copied
//! anew. A database that is away, a missing right or a full disk says nothing about a backup.

use std::io;

use rookery_base::error::Error;

/// EIO: the disk cannot read its own block.
const BAD_BLOCK: i32 = 5;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Spoilt(String);

pub fn spoilt(sentence: impl Into<String>) -> Error {
    Error::internal(Spoilt(sentence.into()))
}

pub fn is_spoilt(error: &Error) -> bool {
    match error {
        Error::Internal(cause) if cause.is::<Spoilt>() => true,
        Error::Internal(cause) => {
            cause.downcast_ref().is_some_and(|error: &io::Error| error.raw_os_error() == Some(BAD_BLOCK))
        }
        _ => false,
    }
}

/// Whether the disk, or what the user may have of it, is full.
pub fn is_full(error: &Error) -> bool {
    let full =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    matches!(error, Error::Internal(cause) if cause.downcast_ref().is_some_and(full))
}
