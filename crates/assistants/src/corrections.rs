//! A person says what a conversation is about or how urgent it is: that stands, and what was said before it is kept, because
//! it is what is learned from. Mail of private inboxes teaches nobody.

use crate::settings;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::Tx;
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::sorting::said::{self, Field};
use rookery_core::workspace::access::TEAM;
use rookery_core::workspace::people::Person;

/// An empty topic says that none of them fits.
pub async fn correct(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: &str,
    field: Field,
    value: &str,
) -> Result<()> {
    let value = Some(value).filter(|value| !value.is_empty());
    let (workspace, now) = (tx.workspace(), tx.now());
    if let (Field::Topic, Some(topic)) = (field, value) {
        let topics = settings::load(tx, workspace).await?.topics();
        if !topics.iter().any(|one| one.name == topic) {
            return Err(Error::problem("topic", "is not one of those that are offered"));
        }
    }
    let conversation = lock_visible(tx, person, conversation).await?;
    let before = said::set(tx, &conversation, person, field, value).await?;
    let Some(message) = before.message.filter(|_| conversation.audience == TEAM) else { return Ok(()) };
    // One a conversation: what was said of an older mail of it is taken back, and what the engine had said is kept.
    sqlx::query!(
        "with gone as (
             delete from corrections c using messages m
             where c.workspace_id = $1 and c.field = $3 and c.message_id <> $4
               and m.workspace_id = $1 and m.id = c.message_id and m.conversation_id = $2
             returning c.before, c.engine)
         insert into corrections as kept (workspace_id, message_id, field, before, engine, after, person_id, at)
         select $1, $4, $3, case when $6::text is null then (select before from gone limit 1) else $5 end,
                coalesce($6, (select engine from gone limit 1)), $7, $8, $9
         on conflict (workspace_id, message_id, field) do update set
             before = case when excluded.engine is null then kept.before else excluded.before end,
             engine = coalesce(excluded.engine, kept.engine),
             after = excluded.after, person_id = excluded.person_id, at = excluded.at",
        workspace.0,
        conversation.id.0,
        field.as_str(),
        message.0,
        before.value,
        before.engine,
        value,
        person.id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
