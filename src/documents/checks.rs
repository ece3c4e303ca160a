//! Whether a file of a customer is taken: its size, what it is by its content, and that it can be read. What
//! lies beyond a file's first bytes is looked at in a confined child.

use bytes::Bytes;

use crate::app::App;
use crate::confined::job::Job;
use crate::confined::run::{Broken, Outcome, busy};
use crate::documents::headers;
pub use crate::documents::headers::Verdict;
use crate::error::Result;
use crate::reading::check;
pub use crate::reading::check::{FileKind, Why};

/// Of one file (D164).
pub const MOST_BYTES: u64 = 25_000_000;

/// Looks at a whole file. An error is ours: the customer should try again.
pub async fn check(app: &App, bytes: Bytes) -> Result<Verdict> {
    if bytes.len() as u64 > MOST_BYTES {
        return Ok(Verdict::Refused(Why::TooLarge));
    }
    let seen = headers::look(&bytes);
    let kind = match seen {
        // Nothing of these is parsed.
        Verdict::Refused(_) | Verdict::Fine { kind: FileKind::Csv | FileKind::Txt | FileKind::Heic } => {
            return Ok(seen);
        }
        Verdict::Fine { kind } => kind,
    };
    let _seat = app.confined.seat().await?;
    match app.confined.run(&Job::Check, bytes).await? {
        Outcome::Said(said) => Ok(match serde_json::from_slice(&said)? {
            check::Verdict::Fine(_) => Verdict::Fine { kind },
            check::Verdict::Refused(why) => Verdict::Refused(why),
        }),
        // This machine can parse nothing, and has told the log so; customers can still send what they are asked for.
        Outcome::Broken(Broken::Unsafe) => Ok(seen),
        // That is the machine's fault as likely as the file's.
        Outcome::Broken(Broken::Late) => Err(busy()),
        // It brought a parser down: nobody should open it.
        Outcome::Broken(_) => Ok(Verdict::Refused(Why::Damaged)),
    }
}
