//! Who follows a conversation: whoever writes in it, is given it, is mentioned, or asks to. Who stopped following
//! begins again only by asking.

use crate::conversations::conversation::{Conversation, Locked};
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::PersonId;
use rookery_base::store::db::Tx;

/// Somebody asks to be told of a conversation, or not to be any more.
pub async fn follow(tx: &mut Tx<'_>, conversation: &Locked, person: &Person, following: bool) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into follows (workspace_id, conversation_id, person_id, following, at) values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, conversation_id, person_id) do update set following = $4, at = $5",
        workspace,
        conversation.id.0,
        person.id.0,
        following,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// They have a part in it now. Nobody follows the sandbox.
pub async fn takes_part(tx: &mut Tx<'_>, conversation: &Conversation, people: &[PersonId]) -> Result<()> {
    if people.is_empty() || !conversation.livemode() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let people: Vec<i64> = people.iter().map(|person| person.0).collect();
    sqlx::query!(
        "insert into follows (workspace_id, conversation_id, person_id, following, at)
         select $1, $2, id, true, $4 from people where workspace_id = $1 and id = any($3)
         on conflict (workspace_id, conversation_id, person_id) do nothing",
        workspace,
        conversation.id.0,
        &people,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(super) async fn load_followers(tx: &mut Tx<'_>, conversation: &Conversation) -> Result<Vec<PersonId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select person_id as "person: PersonId" from follows
           where workspace_id = $1 and conversation_id = $2 and following"#,
        workspace,
        conversation.id.0
    )
    .fetch_all(&mut **tx)
    .await?)
}
