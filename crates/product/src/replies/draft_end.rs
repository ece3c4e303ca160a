//! What becomes of a draft: it is sent in the transaction that makes its message, thrown away, or handed over when its
//! writer leaves the team. The row of one that is done with stays for a while without its words. Whatever comes late, a save or the same click once more, finds there what happened.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::replies::drafts::files::{self, LeftBlob};
use crate::replies::drafts::{DraftKind, NO_DRAFT};
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DraftId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files;
use rookery_core::workspace::people::Person;

/// How long what was sent or thrown away is remembered.
const REMEMBERED: TimeDelta = TimeDelta::days(7);
/// How many are forgotten at once.
const FORGOTTEN: i64 = 100;

/// What became of a draft: nothing yet, sent as a message or note, or thrown away (0).
pub(super) struct Fate {
    pub kind: DraftKind,
    pub version: i32,
    pub conversation: Option<ConversationId>,
    pub became: Option<i64>,
}

/// Locks a draft of this person.
pub(super) async fn lock(tx: &mut Tx<'_>, person: &Person, id: DraftId) -> Result<Fate> {
    let workspace = tx.workspace().0;
    sqlx::query_as!(
        Fate,
        r#"select kind as "kind: DraftKind", version, conversation_id as "conversation: ConversationId", became
           from written_drafts where workspace_id = $1 and id = $2 and person_id = $3 for update"#,
        workspace,
        id.0,
        person.id.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_DRAFT)
}

/// It is sent: in the transaction that makes the message of it.
pub(super) async fn promote(
    tx: &mut Tx<'_>,
    id: DraftId,
    conversation: ConversationId,
    became: i64,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "with files as (delete from written_draft_files where workspace_id = $1 and draft_id = $2),
              copies as (delete from written_draft_copies where workspace_id = $1 and draft_id = $2)
         update written_drafts
         set became = $3, became_at = $4, conversation_id = $5, to_line = '', cc_line = '', bcc_line = '', subject = '',
             body = '', html = '', documents = '', from_address = ''
         where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        became,
        now,
        conversation.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Throws a draft away. It can be brought back for a while, and a late save does not bring it back by itself. The files of
/// one that was to be secure lie unsealed, so they do not wait for that.
pub async fn discard(tx: &mut Tx<'_>, person: &Person, id: DraftId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let gone = sqlx::query!(
        r#"update written_drafts set became = 0, became_at = $4
           where workspace_id = $1 and id = $2 and person_id = $3 and became is null
           returning secure, conversation_id as "conversation: ConversationId""#,
        workspace,
        id.0,
        person.id.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let gone = gone.ok_or(NO_DRAFT)?;
    if gone.secure {
        doom_files(tx, id, gone.conversation).await?;
    }
    Ok(())
}

async fn doom_files(tx: &mut Tx<'_>, draft: DraftId, conversation: Option<ConversationId>) -> Result<()> {
    let workspace = tx.workspace().0;
    let files = sqlx::query!(
        "delete from written_draft_files where workspace_id = $1 and draft_id = $2 returning blob, borrowed",
        workspace,
        draft.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let own = files.into_iter().filter(|file| !file.borrowed);
    let left = own.map(|file| LeftBlob { conversation, blob: file.blob }).collect();
    let unheld = files::unheld(tx, left).await?;
    doomed_files::doom(tx, &unheld).await
}

/// Brings back what was thrown away, unless something new is being written in its place.
pub async fn restore(tx: &mut Tx<'_>, person: &Person, id: DraftId) -> Result<Option<ConversationId>> {
    let workspace = tx.workspace().0;
    let back = sqlx::query_scalar!(
        r#"update written_drafts d set became = null, became_at = null
           where workspace_id = $1 and id = $2 and person_id = $3 and became = 0
             and not exists (select from written_drafts other
                 where other.workspace_id = $1 and other.person_id = $3 and other.kind = d.kind
                   and other.conversation_id = d.conversation_id and other.became is null)
           returning conversation_id as "conversation: ConversationId""#,
        workspace,
        id.0,
        person.id.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    back.ok_or_else(|| Error::problem("draft", "you have begun another one here, so it stays away"))
}

/// Forgets what is done with for a week, whether or not its writer ever comes back.
pub async fn forget(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let before = app.clock.now() - REMEMBERED;
        let due = done_before(&mut *app.connection().await?, before, &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for workspace in due {
            let forgetting = async {
                let mut tx = app.begin(workspace).await?;
                let many = forget_some(&mut tx, before).await?;
                tx.commit().await?;
                Ok(if many { PassProgress::More } else { PassProgress::Done })
            };
            pass.turn(BackoffPiece::Workspace(workspace), forgetting).await?;
        }
    }
}

async fn done_before(
    conn: &mut PgConnection,
    before: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct workspace_id as "workspace!: WorkspaceId" from (
               select workspace_id from written_drafts
               where became is not null and became_at < $1 and workspace_id not in (select unnest($2::bigint[]))
                 and workspace_id not in (select id from workspaces where fenced_at is not null)
               order by became_at limit 1000) oldest"#,
        before,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// True when there may be more.
async fn forget_some(tx: &mut Tx<'_>, before: DateTime<Utc>) -> Result<bool> {
    let workspace = tx.workspace().0;
    let done = sqlx::query_scalar!(
        r#"select id as "id: DraftId" from written_drafts
           where workspace_id = $1 and became is not null and became_at < $2
           order by became_at limit $3 for update"#,
        workspace,
        before,
        FORGOTTEN
    )
    .fetch_all(&mut **tx)
    .await?;
    let left = sqlx::query_as!(
        LeftBlob,
        r#"with files as (
               select conversation_id, blob from written_draft_files f
               join written_drafts d on d.workspace_id = $1 and d.id = f.draft_id
               where f.workspace_id = $1 and f.draft_id = any($2) and not borrowed),
           gone as (delete from written_drafts where workspace_id = $1 and id = any($2))
           select conversation_id as "conversation: ConversationId", blob as "blob!" from files"#,
        workspace,
        &done as &[DraftId]
    )
    .fetch_all(&mut **tx)
    .await?;
    let unheld = files::unheld(tx, left).await?;
    doomed_files::doom(tx, &unheld).await?;
    Ok(done.len() as i64 == FORGOTTEN)
}

/// Gives what somebody who left was writing to a colleague, or to nobody: then it is gone. What belongs to a private inbox
/// goes to whoever owns that now. Where they are writing themselves, both texts are kept.
pub async fn hand_over(tx: &mut Tx<'_>, from: PersonId, to: Option<PersonId>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "with theirs as (
             select d.id, d.conversation_id, d.kind, d.body, d.saved_at, heir
             from written_drafts d
             left join conversations c on c.workspace_id = $1 and c.id = d.conversation_id
             left join mailboxes m on m.workspace_id = $1 and m.id = coalesce(c.mailbox_id, d.mailbox_id)
             cross join lateral (select case m.kind when 'private' then m.owner_id else $3 end) h (heir)
             where d.workspace_id = $1 and d.person_id = $2 and d.became is null and heir <> $2),
         kept as (
             insert into written_draft_copies (workspace_id, draft_id, page, save, body, saved_at)
             select $1, own.id, 'of ' || theirs.id, 0, theirs.body, theirs.saved_at
             from theirs join written_drafts own on own.workspace_id = $1 and own.person_id = heir
                 and own.became is null and own.conversation_id = theirs.conversation_id and own.kind = theirs.kind
             where theirs.body <> ''
             on conflict do nothing)
         update written_drafts set person_id = heir, page = '', save = 0
         from theirs
         where written_drafts.workspace_id = $1 and written_drafts.id = theirs.id and not exists (
             select from written_drafts own where own.workspace_id = $1 and own.person_id = heir
               and own.became is null and own.conversation_id = theirs.conversation_id and own.kind = theirs.kind)",
        workspace,
        from.0,
        to.map(|to| to.0)
    )
    .execute(&mut **tx)
    .await?;
    // Their files have no name any more and are swept away.
    sqlx::query!("delete from written_drafts where workspace_id = $1 and person_id = $2", workspace, from.0)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
