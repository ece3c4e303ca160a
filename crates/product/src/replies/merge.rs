//! Merging two conversations (docs/decisions/merging.md): each room moves what is its own, in one transaction. Only people
//! merge, only what they see, and never a private conversation with one of the team.

use sqlx::PgConnection;

use crate::app_mail::sent;
use crate::bookings::forget as bookings;
use crate::documents::{filing, request};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::merge::{self, Obstacle, rows};
use rookery_core::workspace::people::Person;

/// `gone` becomes part of `kept`.
pub async fn merge(
    tx: &mut Tx<'_>,
    person: &Person,
    kept: ConversationId,
    gone: ConversationId,
) -> Result<ConversationId> {
    let pair = merge::lock_both(tx, person, kept, gone).await?;
    if let Some(obstacle) = obstacle(tx, person.workspace, &pair.kept, &pair.gone).await? {
        return Err(obstacle.into());
    }
    let (kept, gone) = (pair.kept.id, pair.gone.id);
    request::move_to(tx, gone, kept).await?;
    filing::move_to(tx, gone, kept).await?;
    sent::move_to(tx, gone, kept).await?;
    bookings::move_to(tx, gone, kept).await?;
    move_drafts(tx, gone, kept).await?;
    rows::take_in(tx, person, &pair).await?;
    Ok(kept)
}

/// What keeps two apart now: what their messages say, and what people have begun to write.
pub async fn obstacle(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    kept: &Conversation,
    gone: &Conversation,
) -> Result<Option<Obstacle>> {
    if let Some(obstacle) = merge::obstacle(conn, workspace, kept, gone).await? {
        return Ok(Some(obstacle));
    }
    let begun = sqlx::query!(
        r#"select exists (select from written_drafts other
                          where other.workspace_id = $1 and other.conversation_id = $3 and other.became is null
                            and other.person_id = draft.person_id and other.kind = draft.kind) as "in_both!",
               kind <> 'note' as "is_mail!"
           from written_drafts draft where workspace_id = $1 and conversation_id = $2 and became is null"#,
        workspace.0,
        gone.id.0,
        kept.id.0
    )
    .fetch_all(conn)
    .await?;
    let another = kept.contact.email != gone.contact.email;
    Ok(if begun.iter().any(|draft| draft.in_both) {
        Some(Obstacle::WrittenInBoth)
    } else if another && begun.iter().any(|draft| draft.is_mail) {
        Some(Obstacle::DraftToAnother)
    } else {
        None
    })
}

/// Items have other numbers now, so that what their writers saw is not known any more: the next click shows what is there.
async fn move_drafts(tx: &mut Tx<'_>, from: ConversationId, to: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    let moved = sqlx::query!(
        "update written_drafts set conversation_id = $3, seen = 0 where workspace_id = $1 and conversation_id = $2",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await;
    match moved {
        // Somebody began to write in the other one after it was looked at.
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
            Err(Obstacle::WrittenInBoth.into())
        }
        moved => moved.map(drop).map_err(Error::from),
    }
}
