//! Assigning (specification 4.7): to someone on the conversation's team, or to nobody. Giving it to whoever
//! has it already changes nothing.

use std::str::FromStr;

use serde_json::{Value, json};

use crate::conversations::conversation::{Locked, Member};
use crate::conversations::{notifications, team, timeline};
use crate::events::event::{Assignee, ConversationAssigned, Doer, Event};
use crate::events::record::record;
use crate::workspace::access::{Actor, By, MemberId};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, NotAnId};
use rookery_base::store::db::Tx;

/// Whom a conversation is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Whoever asks.
    Me,
    Nobody,
    Member(MemberId),
}

/// `me`, `none`, or a member as the conversation's `team` names them.
impl FromStr for To {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        match text {
            "me" => Ok(Self::Me),
            "none" => Ok(Self::Nobody),
            member => member.parse().map(Self::Member),
        }
    }
}

/// Nobody is told apart who cannot see the inbox, is of another workspace, or is not there at all.
pub fn not_on_the_team() -> Error {
    Error::problem("to", "nobody of that id can be given this conversation")
}

pub async fn assign(tx: &mut Tx<'_>, conversation: &Locked, actor: &Actor, to: To) -> Result<()> {
    let member = whom(tx, conversation, actor, to).await?;
    give(tx, conversation, &actor.by(), member.as_ref()).await
}

/// Whom it would be given to, or nobody.
pub async fn whom(tx: &mut Tx<'_>, conversation: &Locked, actor: &Actor, to: To) -> Result<Option<Member>> {
    let wanted = match to {
        To::Nobody => return Ok(None),
        To::Me => actor.member,
        To::Member(member) => member,
    };
    let team = team::for_conversation(tx, actor.workspace, conversation).await?;
    team.into_iter().find(|member| member.id == wanted).map(Some).ok_or_else(not_on_the_team)
}

/// Gives it to somebody who was found on its team, or to nobody.
pub async fn give(tx: &mut Tx<'_>, conversation: &Locked, by: &By, assignee: Option<&Member>) -> Result<()> {
    if conversation.assignee.as_ref().map(|member| member.id) == assignee.map(|member| member.id) {
        return Ok(());
    }
    let workspace = tx.workspace().0;
    let (kind, id) = match assignee.map(|member| member.id.columns()) {
        Some((kind, id)) => (Some(kind), id),
        None => (None, 0),
    };
    sqlx::query!(
        "update conversations set assignee_type = $3, assignee_id = $4 where workspace_id = $1 and id = $2",
        workspace,
        conversation.id.0,
        kind,
        id
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "from": member_data(conversation.assignee.as_ref()), "to": member_data(assignee) });
    timeline::append(tx, conversation.id, by, "assigned", data).await?;
    let assigned = ConversationAssigned {
        conversation_id: conversation.id,
        assignee: assignee.map(Assignee::from),
        assigned_by: Doer::from(by),
    };
    record(tx, conversation.event_context(), &Event::ConversationAssigned(assigned)).await?;
    if let Some(member) = assignee {
        notifications::assigned(tx, conversation, by, member.id).await?;
    }
    Ok(())
}

/// Conversations an agent or a person holds, a batch at a time.
pub async fn held_by(tx: &mut Tx<'_>, member: MemberId) -> Result<Vec<ConversationId>> {
    let (workspace, (kind, id)) = (tx.workspace().0, member.columns());
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations
           where workspace_id = $1 and assignee_id = $2 and assignee_type = $3 order by id limit 100"#,
        workspace,
        id,
        kind
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// As the timeline tells it.
fn member_data(member: Option<&Member>) -> Value {
    let Some(member) = member else { return Value::Null };
    match member.id {
        MemberId::Person(id) => json!({ "type": "user", "id": id, "name": member.name }),
        MemberId::Agent(id) => json!({ "type": "agent", "id": id, "name": member.name }),
    }
}
