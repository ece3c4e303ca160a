//! Rules in few words, and what they did to a conversation.

use rookery_base::ids::{ConversationId, PersonId, RuleId};
use rookery_core::rules::definition::{Action, Condition, ConditionKind, Definition, Trigger};
use rookery_core::rules::store;
use rookery_core::workspace::people;
use serde_json::Value;

use crate::{Workspace, World};

/// A rule of this person, as the page would save it.
pub async fn rule(acme: &Workspace<'_>, by: PersonId, name: &str, does: Definition) -> RuleId {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let person = people::teammate(&mut tx, acme.id, by).await.unwrap();
    let id = store::put(&mut tx, &person, None, name, does).await.expect("a sound rule");
    tx.commit().await.unwrap();
    id
}

pub fn on_mail(conditions: Vec<Condition>, then: Vec<Action>) -> Definition {
    Definition { when: Trigger::MailArrives, conditions, then }
}

pub fn on_tag(tag: &str, then: Vec<Action>) -> Definition {
    Definition { when: Trigger::TagSet { tag: tag.into() }, conditions: vec![], then }
}

pub fn is(test: ConditionKind) -> Condition {
    Condition { is: true, test }
}

pub fn subject(word: &str) -> Condition {
    is(ConditionKind::Subject { words: vec![word.into()] })
}

pub fn tag(name: &str) -> Action {
    Action::Tag { tag: name.into() }
}

/// Tags of a conversation, by name.
pub async fn tags(world: &World, id: ConversationId) -> Vec<String> {
    sqlx::query_scalar(
        "select name from conversation_tags c join tags t on t.workspace_id = c.workspace_id and t.id = c.tag_id
         where conversation_id = $1 order by name",
    )
    .bind(id.0)
    .fetch_all(&world.app.pool)
    .await
    .unwrap()
}

/// What the timeline has beside mail: who did what.
pub async fn timeline(world: &World, id: ConversationId) -> Vec<(String, String, Value)> {
    sqlx::query_as("select actor, event, data from timeline_events where conversation_id = $1 order by item")
        .bind(id.0)
        .fetch_all(&world.app.pool)
        .await
        .unwrap()
}
