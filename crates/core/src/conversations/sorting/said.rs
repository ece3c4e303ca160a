//! What was said of a conversation: topic, urgency, by whom and when. An assistant writes where no person has said
//! anything, whatever happened between its reading and its writing; a person's word stands. Risk is only ever raised.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::conversations::conversation::Locked;
use crate::conversations::timeline;
use crate::workspace::access::By;
use crate::workspace::people::Person;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;

pub const URGENCIES: [&str; 3] = ["low", "normal", "high"];

/// What an assistant says of a conversation. What it says nothing of stays as it is.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub conversation: ConversationId,
    pub audience: i64,
    pub topic: Option<String>,
    pub urgency: Option<&'static str>,
    /// The engines that say so.
    pub topic_by: String,
    pub urgency_by: String,
}

pub async fn write(tx: &mut Tx<'_>, judged: &[Judgement]) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let ids: Vec<i64> = judged.iter().map(|one| one.conversation.0).collect();
    let topics: Vec<Option<&str>> = judged.iter().map(|one| one.topic.as_deref()).collect();
    let urgencies: Vec<Option<&str>> = judged.iter().map(|one| one.urgency).collect();
    let topics_by: Vec<&str> = judged.iter().map(|one| one.topic_by.as_str()).collect();
    let urgencies_by: Vec<&str> = judged.iter().map(|one| one.urgency_by.as_str()).collect();
    sqlx::query!(
        "update conversations c set
             topic = case when says_topic then said.topic else c.topic end,
             topic_by = case when says_topic then said.topic_by else c.topic_by end,
             topic_at = case when says_topic then $7 else c.topic_at end,
             urgency = case when says_urgency then said.urgency else c.urgency end,
             urgency_by = case when says_urgency then said.urgency_by else c.urgency_by end,
             urgency_at = case when says_urgency then $7 else c.urgency_at end
         from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
                  as said (id, topic, urgency, topic_by, urgency_by)
         join conversations held on held.workspace_id = $1 and held.id = said.id
         cross join lateral (
             select said.topic is not null and held.topic_person is null as says_topic,
                    said.urgency is not null and held.urgency_person is null as says_urgency) says
         where c.workspace_id = $1 and c.id = said.id",
        workspace,
        &ids,
        &topics as &[Option<&str>],
        &urgencies as &[Option<&str>],
        &topics_by as &[&str],
        &urgencies_by as &[&str],
        now
    )
    .execute(&mut **tx)
    .await?;
    for one in judged {
        tx.touch(one.audience, LiveTopic::Conversation(one.conversation));
    }
    Ok(())
}

/// Marks a conversation as risky that is not marked yet, for one of its mails. Nothing is held by it, and no mark is ever
/// taken away here. Whoever released it after that mail came has said what it is.
pub async fn raise_risk(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    label: &str,
    reason: &str,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let raised = sqlx::query!(
        "update conversations set risk = $3, risk_reasons = array[$4::text]
         where workspace_id = $1 and id = $2 and risk is null
           and not exists (select from timeline_events told join messages m on m.workspace_id = $1 and m.id = $5
                           where told.workspace_id = $1 and told.conversation_id = $2 and told.event = 'released'
                             and told.at >= m.at)",
        workspace,
        conversation.id.0,
        label,
        reason,
        message.0
    )
    .execute(&mut **tx)
    .await?;
    let is_raised = raised.rows_affected() == 1;
    if is_raised {
        timeline::append(tx, conversation.id, &By::System, "risk-raised", json!({ "risk": label })).await?;
    }
    Ok(is_raised)
}

rookery_base::text_enum! {
    /// Which of the two somebody speaks of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Field {
        Topic = "topic",
        Urgency = "urgency",
    }
}

/// What stood there, and of which mail it was said.
#[derive(Debug)]
pub struct Before {
    pub value: Option<String>,
    pub engine: Option<String>,
    /// The customer's newest mail.
    pub message: Option<MessageId>,
}

/// A person says what it is; it stands from now on. Nothing as a topic means that none of them fits.
pub async fn set(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    person: &Person,
    field: Field,
    value: Option<&str>,
) -> Result<Before> {
    if field == Field::Urgency && !value.is_some_and(|value| URGENCIES.contains(&value)) {
        return Err(Error::problem("urgency", "must be low, normal or high"));
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let before = sqlx::query!(
        r#"with before as (
               select topic, topic_by, urgency, urgency_by from conversations where workspace_id = $1 and id = $2),
           said as (
               update conversations set
                   topic = case when $5 then $3 else topic end, topic_by = case when $5 then null else topic_by end,
                   topic_at = case when $5 then $6 else topic_at end,
                   topic_person = case when $5 then $4 else topic_person end,
                   urgency = case when $5 then urgency else $3 end,
                   urgency_by = case when $5 then urgency_by else null end,
                   urgency_at = case when $5 then urgency_at else $6 end,
                   urgency_person = case when $5 then urgency_person else $4 end
               where workspace_id = $1 and id = $2)
           select case when $5 then topic else urgency end as value,
                  case when $5 then topic_by else urgency_by end as engine,
                  (select m.id from messages m
                   where m.workspace_id = $1 and m.conversation_id = $2 and direction = 'inbound' and not automatic
                   order by at desc, item desc limit 1) as "message?: MessageId"
           from before"#,
        workspace,
        conversation.id.0,
        value,
        person.id.0,
        field == Field::Topic,
        now
    )
    .fetch_one(&mut **tx)
    .await?;
    if before.value.as_deref() != value {
        let data = json!({ "field": field.as_str(), "from": before.value, "to": value });
        timeline::append(tx, conversation.id, &person.by(), "sorted", data).await?;
    }
    Ok(Before { value: before.value, engine: before.engine, message: before.message })
}

/// Who said one of the two, and when.
#[derive(Clone, Debug)]
pub struct Word {
    pub value: Option<String>,
    /// A person's name, or that of an engine.
    pub by: Option<String>,
    pub by_person: bool,
    pub at: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug)]
pub struct SortingWords {
    pub topic: Word,
    pub urgency: Word,
}

pub async fn load(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: ConversationId,
) -> Result<SortingWords> {
    let row = sqlx::query!(
        r#"select topic, topic_by, topic_at, topic_person is not null as "topic_stands!",
               (select name from people where workspace_id = $1 and people.id = topic_person) as topic_person,
               urgency, urgency_by, urgency_at, urgency_person is not null as "urgency_stands!",
               (select name from people where workspace_id = $1 and people.id = urgency_person) as urgency_person
           from conversations where workspace_id = $1 and id = $2"#,
        workspace.0,
        id.0
    )
    .fetch_one(conn)
    .await?;
    Ok(SortingWords {
        topic: Word {
            value: row.topic,
            by: row.topic_person.or(row.topic_by),
            by_person: row.topic_stands,
            at: row.topic_at,
        },
        urgency: Word {
            value: row.urgency,
            by: row.urgency_person.or(row.urgency_by),
            by_person: row.urgency_stands,
            at: row.urgency_at,
        },
    })
}
