//! Parse: takes the bytes of a mail and gives what they say, or why the mail is refused. It is the same for every recipient,
//! so it is done once for all of them. What is large is parsed off the runtime's threads.

use bytes::Bytes;

use crate::incoming::stage::{at_once, stage};
use rookery_base::error::{Error, Result};
use rookery_reading::mail::parse::{ParsedMail, Refusal, parse};

/// Mail from this size on is parsed off the runtime's threads.
const LARGE: usize = 64 * 1024;

pub async fn take_apart(raw: &Bytes) -> Result<Result<ParsedMail, Refusal>> {
    if raw.len() < LARGE {
        return Ok(at_once("parse", || parse(raw)));
    }
    // Parsing a large mail would block a runtime thread.
    let raw = raw.clone();
    stage("parse", tokio::task::spawn_blocking(move || parse(&raw))).await.map_err(Error::internal)
}
