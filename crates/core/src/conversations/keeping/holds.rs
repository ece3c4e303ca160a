//! Holds: what must neither be erased nor removed by time, whoever asks, because somebody may need it as proof. A hold
//! covers a contact, one conversation or the whole workspace, and all that comes while it stands.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::conversations::lock::lock_visible;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::{Person, a_name, an_address};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, HoldId, WorkspaceId};
use rookery_base::store::db::Tx;

const NO_HOLD: Error = Error::Missing("No such hold.");
/// Conversations of two people that are looked at to tell whether they are in one together.
const MOST_LOOKED_AT: i32 = 1_000;

/// What somebody wants to hold, as typed.
#[derive(Clone, Copy, Debug)]
pub enum Covers<'a> {
    Contact(&'a str),
    Conversation(&'a str),
    Everything,
}

/// A hold that stands.
#[derive(Debug)]
pub struct Hold {
    pub id: HoldId,
    pub name: String,
    pub address: Option<String>,
    pub conversation: Option<ConversationId>,
    /// The subject of that conversation, for those who see it.
    pub subject: Option<String>,
    pub placed_by: String,
    pub placed_at: DateTime<Utc>,
}

/// Keeps holds and erasures of a workspace from being begun at the same time, each without having seen the other.
pub async fn alone(tx: &mut Tx<'_>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("select from workspaces where id = $1 for no key update", workspace)
        .fetch_one(&mut **tx)
        .await?;
    Ok(())
}

/// What is being erased can still be held: the erasure stops where it is (erasures/work.rs).
pub async fn place(tx: &mut Tx<'_>, person: &Person, name: &str, covers: Covers<'_>) -> Result<HoldId> {
    let name = a_name("name", name, 200)?;
    // First: what is found from here on can neither be erased nor removed until the hold stands.
    alone(tx).await?;
    let (address, conversation) = match covers {
        Covers::Contact(address) => (Some(an_address("address", address)?), None),
        // Locked, so that it does not become part of another meanwhile.
        Covers::Conversation(id) => (None, Some(lock_visible(tx, person, id.trim()).await?.id)),
        Covers::Everything => (None, None),
    };
    let (workspace, now, id) = (tx.workspace().0, tx.now(), tx.mint::<HoldId>());
    let by = person.by();
    sqlx::query!(
        "insert into holds (workspace_id, id, name, address, conversation_id, placed_by, placed_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        workspace,
        id.0,
        name,
        address,
        conversation.map(|id| id.0),
        by.name(),
        now
    )
    .execute(&mut **tx)
    .await?;
    recorded(tx, person, Did::HoldPlaced, id, address.is_some(), conversation).await?;
    Ok(id)
}

pub async fn end(tx: &mut Tx<'_>, person: &Person, id: HoldId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let ended = sqlx::query!(
        r#"update holds set ended_at = $3 where workspace_id = $1 and id = $2 and ended_at is null
           returning address is not null as "is_contact!", conversation_id as "conversation: ConversationId""#,
        workspace,
        id.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_HOLD)?;
    recorded(tx, person, Did::HoldEnded, id, ended.is_contact, ended.conversation).await
}

/// The log keeps what kind of thing is held, and neither the address nor the name, which may be that of a person.
async fn recorded(
    tx: &mut Tx<'_>,
    person: &Person,
    did: Did,
    id: HoldId,
    is_contact: bool,
    conversation: Option<ConversationId>,
) -> Result<()> {
    let what = match (is_contact, conversation) {
        (true, _) => "a contact".to_owned(),
        (_, Some(conversation)) => conversation.to_string(),
        _ => "everything".to_owned(),
    };
    audit::record(tx, &person.by(), did, Subject { id: &id, name: &what }, json!({ "hold": id })).await
}

/// Those that stand, newest first.
pub async fn standing(conn: &mut PgConnection, person: &Person) -> Result<Vec<Hold>> {
    Ok(sqlx::query_as!(
        Hold,
        r#"select h.id as "id: HoldId", h.name, address, conversation_id as "conversation: ConversationId",
               c.subject as "subject?", placed_by, placed_at
           from holds h left join conversations c
               on c.workspace_id = $1 and c.id = conversation_id and c.audience = any($2)
           where h.workspace_id = $1 and ended_at is null order by h.id desc"#,
        person.workspace.0,
        &person.audiences()
    )
    .fetch_all(conn)
    .await?)
}

/// The names of the holds that keep a contact from being erased: on the contact, on everything, on a conversation the
/// contact is in, or on somebody who is in one with them. Where both are in more than `MOST_LOOKED_AT`, that may show only when the
/// erasure comes to the conversation, and `stop` ends it there.
pub async fn against(conn: &mut PgConnection, workspace: WorkspaceId, address: &str) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select name from holds h
         where workspace_id = $1 and ended_at is null and case
             when conversation_id is not null then takes_part($1, conversation_id, $2)
             when address is null or address = $2 then true
             else are_together($1, $2, h.address, $3) end
         order by id",
        workspace.0,
        address,
        MOST_LOOKED_AT
    )
    .fetch_all(conn)
    .await?)
}

/// Whether a hold keeps an erasure from going on with these conversations. Whoever asks is `alone`.
pub async fn stop(tx: &mut Tx<'_>, address: &str, conversations: &[ConversationId]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = conversations.iter().map(|id| id.0).collect();
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select from holds h where workspace_id = $1 and ended_at is null
                 and (address = $2 or (address is null and conversation_id is null)
                      or exists (select from unnest($3::bigint[]) as t (id)
                                 where hold_covers($1, h.address, h.conversation_id, t.id)))) as "is_stopped!""#,
        workspace,
        address,
        &ids
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// The names of the holds that keep a conversation from being deleted.
pub async fn on(conn: &mut PgConnection, workspace: WorkspaceId, id: ConversationId) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select name from holds
         where workspace_id = $1 and ended_at is null and hold_covers($1, address, conversation_id, $2)
         order by id",
        workspace.0,
        id.0
    )
    .fetch_all(conn)
    .await?)
}

/// A conversation becomes part of another: what is held stays held.
pub async fn move_to(tx: &mut Tx<'_>, from: ConversationId, to: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update holds set conversation_id = $3 where workspace_id = $1 and conversation_id = $2",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A contact is erased: what ended holds say of them goes too. After an older backup came back one may stand again that
/// had ended before they were erased.
pub async fn forget(tx: &mut Tx<'_>, address: &str, is_replay: bool) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from holds where workspace_id = $1 and address = $2 and (ended_at is not null or $3)",
        workspace,
        address,
        is_replay
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The same for holds on conversations with them: the name of one may be theirs.
pub async fn forget_of(tx: &mut Tx<'_>, conversations: &[ConversationId], is_replay: bool) -> Result<()> {
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = conversations.iter().map(|id| id.0).collect();
    sqlx::query!(
        "delete from holds where workspace_id = $1 and conversation_id = any($2) and (ended_at is not null or $3)",
        workspace,
        &ids,
        is_replay
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
