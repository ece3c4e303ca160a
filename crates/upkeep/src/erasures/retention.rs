//! Works off retention: goes round every workspace that has inboxes with a number of days and fills its trash, and removes what
//! has lain there for its seven days. Each transaction takes no more than its allowance, so a long conversation goes part by part.
//! What was removed is an entry of the audit log, by inbox, without a name.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files as files;
use rookery_core::conversations::keeping::parts::{self, ALLOWED};
use rookery_core::conversations::keeping::retention::{self, Over, Round};
use rookery_core::conversations::keeping::{forget, holds};
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_product::bookings::forget as bookings;
use rookery_product::documents::forget as documents;
use rookery_product::replies::drafts::erase as drafts;

/// The worker's loops.
pub const FILLING: &str = "fill the trash";
pub const LOOP: &str = "remove what is over";

/// Conversations that are removed in one transaction.
const AT_ONCE: i64 = 100;

/// One round through each workspace.
pub async fn fill(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    let mut rounds = HashMap::new();
    loop {
        let kept = retention::kept(&mut *app.connection().await?, app.clock.now(), &pass.aside()).await?;
        if pass.is_over(&kept) {
            return Ok(());
        }
        for workspace in kept {
            let round = rounds.get(&workspace).copied().unwrap_or(Round::BEGIN);
            let mut further = None;
            let going = async {
                let mut tx = app.begin(workspace).await?;
                holds::alone(&mut tx).await?;
                further = retention::go_round(&mut tx, round).await?;
                tx.commit().await?;
                Ok(if further.is_some() { PassProgress::More } else { PassProgress::Done })
            };
            pass.turn(BackoffPiece::Workspace(workspace), going).await?;
            further.and_then(|further| rounds.insert(workspace, further));
        }
    }
}

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
                let progress = remove(&mut tx).await?;
                tx.commit().await?;
                Ok(progress)
            };
            pass.turn(BackoffPiece::Workspace(workspace), removing).await?;
        }
    }
}

async fn remove(tx: &mut Tx<'_>) -> Result<PassProgress> {
    let Some(mut over) = retention::over(tx, AT_ONCE).await? else { return Ok(PassProgress::Done) };
    let mut conversations: Vec<ConversationId> = over.iter().map(|over| over.conversation).collect();
    let fitting = parts::fitting(tx, &conversations, ALLOWED).await?;
    if let (0, Some(long)) = (fitting, conversations.first()) {
        remove_part(tx, *long).await?;
        return Ok(PassProgress::More);
    }
    over.truncate(fitting);
    conversations.truncate(fitting);
    bookings::of_conversations(tx, &conversations).await?;
    let filed = documents::forget(tx, &conversations, &[], i64::MAX).await?;
    let written = drafts::in_conversations(tx, &conversations).await?;
    let taken = forget::remove(tx, &conversations).await?;
    files::doom(tx, &[filed.blobs, written, taken.blobs].concat()).await?;
    note_removed(tx, &over).await?;
    Ok(PassProgress::More)
}

/// Of one that is too long to go at once. What is left fits one day, and goes as a whole then.
async fn remove_part(tx: &mut Tx<'_>, id: ConversationId) -> Result<()> {
    let blobs = match forget::remove_part(tx, id, ALLOWED).await? {
        Some(taken) => {
            let filed = documents::forget_files(tx, &[id], &taken.blobs).await?;
            [taken.blobs, filed.blobs].concat()
        }
        None => documents::forget(tx, &[id], &[], ALLOWED.rows).await?.blobs,
    };
    drafts::lent(tx, &blobs).await?;
    files::doom(tx, &blobs).await
}

async fn note_removed(tx: &mut Tx<'_>, over: &[Over]) -> Result<()> {
    let mut by_inbox: BTreeMap<MailboxId, i64> = BTreeMap::new();
    // One that somebody deleted is in the log already.
    let by_time = over.iter().filter(|over| !over.by_hand);
    by_time.for_each(|over| *by_inbox.entry(over.mailbox).or_default() += 1);
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
    Ok(())
}
