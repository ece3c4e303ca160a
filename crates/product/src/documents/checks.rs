//! Whether a file of a customer is taken: its size, what it is by its content, and that it can be read. What
//! lies beyond a file's first bytes is looked at in a confined child.

use bytes::Bytes;

use crate::documents::headers;
pub use crate::documents::headers::HeaderVerdict;
use rookery_base::app::App;
use rookery_base::confined::job::Job;
use rookery_base::confined::run::{Broken, RunOutcome, busy};
use rookery_base::error::Result;
use rookery_base::ids::{DocumentRequestId, WorkspaceId};
use rookery_base::limits::customers::Visits;
use rookery_base::limits::fair_seats::Sitter;
use rookery_reading::check;
pub use rookery_reading::check::{FileKind, Why};

/// Of one file (D164).
pub const MOST_BYTES: u64 = 25_000_000;

/// Looks at a whole file that came over a private link. An error is ours: the customer should try again. A link whose files
/// take too long has to wait.
pub async fn check(
    app: &App,
    workspace: WorkspaceId,
    link: DocumentRequestId,
    bytes: Bytes,
) -> Result<HeaderVerdict> {
    if bytes.len() as u64 > MOST_BYTES {
        return Ok(HeaderVerdict::Refused(Why::TooLarge));
    }
    let seen = headers::inspect(&bytes);
    let kind = match seen {
        // Nothing of these is parsed.
        HeaderVerdict::Refused(_)
        | HeaderVerdict::Fine { kind: FileKind::Csv | FileKind::Txt | FileKind::Heic } => {
            return Ok(seen);
        }
        HeaderVerdict::Fine { kind } => kind,
    };
    let _seat = app.confined.seat(Sitter::by_link(workspace, link.0)).await?;
    let late = Visits::LateFilesOfLink(link);
    app.customers.is_within(late, app.clock.now())?;
    match app.confined.run(&Job::Check, bytes).await? {
        RunOutcome::Said(said) => Ok(match serde_json::from_slice(&said)? {
            check::FileVerdict::Fine(_) => HeaderVerdict::Fine { kind },
            check::FileVerdict::Refused(why) => HeaderVerdict::Refused(why),
        }),
        // This machine can parse nothing, and has told the log so; customers can still send what they are asked for.
        RunOutcome::Broken(Broken::Unsafe) => Ok(seen),
        // That is the machine's fault as likely as the file's.
        RunOutcome::Broken(Broken::Late) => {
            app.customers.count(late, app.clock.now())?;
            Err(busy())
        }
        // It brought a parser down: nobody should open it.
        RunOutcome::Broken(_) => Ok(HeaderVerdict::Refused(Why::Damaged)),
    }
}
