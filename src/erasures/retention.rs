//! Works off retention: fills the trash of every workspace that has inboxes with a number of days, and removes what has lain
//! there for its seven days, a batch at a time. What was removed is an entry of the audit log, by inbox, without a name.

use std::collections::BTreeMap;

use serde_json::json;

use crate::app::App;
use crate::bookings::forget as bookings;
use crate::conversations::keeping::{forget, holds, retention};
use crate::documents::forget as documents;
use crate::due::backoff::{Backoff, Piece};
use crate::due::pass::{Pass, Progress};
use crate::error::Result;
use crate::ids::{ConversationId, MailboxId};
use crate::replies::drafts::erase as drafts;
use crate::store::db::Tx;
use crate::store::doomed_files as files;
use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};

/// The worker's loop.
pub const LOOP: &str = "remove what is over";

/// Conversations that are removed in one transaction.
const AT_ONCE: i64 = 100;

pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let due = retention::due(&mut *app.connection().await?, app.clock.now(), &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for workspace in due {
            let removing = async {
                let mut tx = app.begin(workspace).await?;
                holds::alone(&mut tx).await?;
                let filled = retention::fill(&mut tx).await?;
                let removed = remove(&mut tx).await?;
                tx.commit().await?;
                Ok(if filled || removed { Progress::More } else { Progress::Done })
            };
            pass.turn(Piece::Workspace(workspace), removing).await?;
        }
    }
}

/// True when there may be more.
async fn remove(tx: &mut Tx<'_>) -> Result<bool> {
    let over = retention::over(tx, AT_ONCE).await?;
    if over.is_empty() {
        return Ok(false);
    }
    let conversations: Vec<ConversationId> = over.iter().map(|(id, _)| *id).collect();
    bookings::of_conversations(tx, &conversations).await?;
    let filed = documents::forget(tx, &conversations, &[]).await?;
    let written = drafts::in_conversations(tx, &conversations).await?;
    let taken = forget::remove(tx, &conversations).await?;
    files::doom(tx, &[filed.blobs, written, taken.blobs].concat()).await?;
    let mut by_inbox: BTreeMap<MailboxId, i64> = BTreeMap::new();
    over.iter().for_each(|(_, mailbox)| *by_inbox.entry(*mailbox).or_default() += 1);
    for (mailbox, conversations) in by_inbox {
        let workspace = tx.workspace().0;
        let inbox = sqlx::query!(
            "select name, keep_days from mailboxes where workspace_id = $1 and id = $2",
            workspace,
            mailbox.0
        )
        .fetch_one(&mut **tx)
        .await?;
        let data = json!({ "conversations": conversations, "keepDays": inbox.keep_days });
        let subject = Subject { id: &mailbox, name: &inbox.name };
        audit::record(tx, &By::System, Did::RetentionRemoved, subject, data).await?;
    }
    Ok(over.len() as i64 == AT_ONCE)
}
