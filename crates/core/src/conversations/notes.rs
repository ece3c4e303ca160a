//! Notes (specification 4.4): for the team, never for the customer. Whom a note names, and whoever follows the
//! conversation, is told of it.

use crate::conversations::conversation::Locked;
use crate::conversations::{mentions, notifications};
use crate::workspace::access::{Actor, MemberId};
use rookery_base::error::Result;
use rookery_base::ids::NoteId;
use rookery_base::store::db::Tx;
use rookery_reading::text;

pub async fn add(tx: &mut Tx<'_>, conversation: &Locked, actor: &Actor, body: &str) -> Result<NoteId> {
    let id: NoteId = tx.mint();
    let (workspace, now) = (tx.workspace(), tx.now());
    let body = text::lines(body);
    sqlx::query!(
        "with numbered as (
             update conversations set last_item = last_item + 1, last_item_at = $4 where workspace_id = $1 and id = $2
             returning last_item)
         insert into notes (workspace_id, conversation_id, id, item, at, author, body)
         select $1, $2, $3, last_item, $4, $5, $6 from numbered",
        workspace.0,
        conversation.id.0,
        id.0,
        now,
        actor.name,
        body
    )
    .execute(&mut **tx)
    .await?;
    let named = mentions::in_note(tx, workspace, conversation, &body).await?;
    if !named.is_empty() {
        let people: Vec<i64> = named.iter().map(|person| person.0).collect();
        sqlx::query!(
            "insert into mentions (workspace_id, person_id, note_id, conversation_id, at)
             select $1, person_id, $2, $3, $4 from unnest($5::bigint[]) as named (person_id)",
            workspace.0,
            id.0,
            conversation.id.0,
            now,
            &people
        )
        .execute(&mut **tx)
        .await?;
    }
    if conversation.livemode() {
        notifications::noted(tx, conversation, &actor.by(), &named).await?;
        if let MemberId::Person(person) = actor.member {
            notifications::follows::takes_part(tx, conversation, &[person]).await?;
        }
    }
    Ok(id)
}
