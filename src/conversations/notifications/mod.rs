//! What people are told of in the app: that a conversation was given to them, that a note names them, and news of those
//! they follow. One row for each conversation, person and reason, which news makes new again; reading the conversation
//! makes it old. Nobody is told of what they did themselves, of what they cannot see, or of the sandbox.

pub mod choices;
pub mod digest;
pub mod follows;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::error::Result;
use crate::ids::{ConversationId, PersonId};
use crate::live::topic::Topic;
use crate::store::db::Tx;
use crate::workspace::access::{By, MemberId, TEAM};
use crate::workspace::people::Person;

/// How long something may stay unread before a mail tells of it. Two such mails are an hour apart.
const UNREAD: TimeDelta = TimeDelta::minutes(10);
/// The badge counts no further.
pub const MOST_COUNTED: i64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Reason {
    /// The conversation was given to them.
    Assigned,
    /// A note names them.
    Mentioned,
    /// The customer wrote in a conversation they follow.
    Replied,
    /// A colleague wrote a note there.
    Noted,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::Mentioned => "mentioned",
            Self::Replied => "replied",
            Self::Noted => "noted",
        }
    }
}

/// A conversation was given to somebody, who follows it from now on.
pub async fn assigned(tx: &mut Tx<'_>, conversation: &Conversation, by: &By, to: MemberId) -> Result<()> {
    let MemberId::Person(person) = to else { return Ok(()) };
    follows::takes_part(tx, conversation, &[person]).await?;
    tell(tx, conversation, by, by.name(), &[(person, Reason::Assigned)]).await
}

/// The customer wrote.
pub async fn replied(tx: &mut Tx<'_>, conversation: &Conversation, who: &str) -> Result<()> {
    let followers = follows::of(tx, conversation).await?;
    let told: Vec<_> = followers.into_iter().map(|person| (person, Reason::Replied)).collect();
    tell(tx, conversation, &By::System, who, &told).await
}

/// Somebody wrote a note that names some people; whoever else follows the conversation hears of it too.
pub async fn noted(
    tx: &mut Tx<'_>,
    conversation: &Conversation,
    by: &By,
    mentioned: &[PersonId],
) -> Result<()> {
    let followers = follows::of(tx, conversation).await?;
    follows::takes_part(tx, conversation, mentioned).await?;
    let mut told: Vec<_> = mentioned.iter().map(|person| (*person, Reason::Mentioned)).collect();
    let others = followers.into_iter().filter(|person| !mentioned.contains(person));
    told.extend(others.map(|person| (person, Reason::Noted)));
    tell(tx, conversation, by, by.name(), &told).await
}

/// Tells each, in one statement and in one order, so that two who tell the same people do not block each other. Who
/// left the team or cannot see the conversation is passed over.
async fn tell(
    tx: &mut Tx<'_>,
    conversation: &Conversation,
    by: &By,
    name: &str,
    told: &[(PersonId, Reason)],
) -> Result<()> {
    let doer = match by {
        By::Person { id, .. } => id.0,
        By::Agent { .. } | By::System => 0,
    };
    let told = told.iter().filter(|(person, _)| person.0 != doer);
    let (people, reasons): (Vec<i64>, Vec<&str>) =
        told.map(|(person, reason)| (person.0, reason.as_str())).unzip();
    if people.is_empty() || !conversation.livemode() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let heard = sqlx::query_scalar!(
        r#"with wanted as (
               select people.id, reason, coalesce(
                   (select choice from notification_choices chosen
                    where chosen.workspace_id = $1 and chosen.person_id = people.id and mailbox_id in (0, $4)
                      and kind = case when reason in ('assigned', 'mentioned') then reason else 'following' end
                    order by mailbox_id desc limit 1), 'mail') as choice
               from unnest($8::bigint[], $9::text[]) as told (person_id, reason)
               join people on people.workspace_id = $1 and people.id = told.person_id
               where removed_at is null and ($3::bigint = $7::bigint or people.id = $3)
               order by people.id),
           timed as (
               insert into notification_mail as timer (workspace_id, person_id, due_at)
               select $1, id, $10::timestamptz from wanted where choice = 'mail'
               on conflict (workspace_id, person_id)
               do update set due_at = coalesce(timer.due_at, greatest(excluded.due_at, timer.mailed_at + interval '1 hour')))
           insert into notifications (workspace_id, conversation_id, person_id, reason, by_name, at)
           select $1, $2, id, reason, $5, $6 from wanted where choice <> 'off'
           on conflict (workspace_id, conversation_id, person_id, reason)
           do update set by_name = excluded.by_name, at = excluded.at, read_at = null, mailed_at = null
           returning person_id as "person: PersonId""#,
        workspace,
        conversation.id.0,
        conversation.audience,
        conversation.mailbox_id.0,
        name,
        now,
        TEAM,
        &people,
        &reasons as &[&str],
        now + UNREAD
    )
    .fetch_all(&mut **tx)
    .await?;
    for person in heard {
        tx.touch(person.0, Topic::Notices);
    }
    Ok(())
}

/// One line of a person's list.
pub struct Notification {
    pub conversation: ConversationId,
    pub reason: Reason,
    pub by_name: Option<String>,
    pub at: DateTime<Utc>,
    pub is_unread: bool,
    pub subject: String,
    pub mailbox_name: String,
}

/// Newest first, of conversations that the person can still see.
pub async fn list(
    conn: &mut PgConnection,
    person: &Person,
    before: Option<DateTime<Utc>>,
    limit: i64,
) -> Result<Vec<Notification>> {
    Ok(sqlx::query_as!(
        Notification,
        r#"select n.conversation_id as "conversation: ConversationId", n.reason as "reason: Reason", n.by_name, n.at,
                  n.read_at is null as "is_unread!", c.subject, m.name as mailbox_name
           from notifications n
           join conversations c on c.workspace_id = $1 and c.id = n.conversation_id
           join mailboxes m on m.workspace_id = $1 and m.id = c.mailbox_id
           where n.workspace_id = $1 and n.person_id = $2 and ($3::timestamptz is null or n.at < $3)
             and c.audience = any($4)
           order by n.at desc, n.conversation_id desc, n.reason desc limit $5"#,
        person.workspace.0,
        person.id.0,
        before,
        &person.audiences(),
        limit
    )
    .fetch_all(conn)
    .await?)
}

/// How many are unread, up to [`MOST_COUNTED`].
pub async fn unread(conn: &mut PgConnection, person: &Person) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from (
               select from notifications n
               join conversations c on c.workspace_id = $1 and c.id = n.conversation_id
               where n.workspace_id = $1 and n.person_id = $2 and n.read_at is null and c.audience = any($3)
               limit $4) counted"#,
        person.workspace.0,
        person.id.0,
        &person.audiences(),
        MOST_COUNTED
    )
    .fetch_one(conn)
    .await?)
}

/// The person has seen a conversation, or their whole list as it was at a time.
pub async fn read(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: Option<ConversationId>,
    until: DateTime<Utc>,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let read = sqlx::query!(
        "update notifications set read_at = $5
         where workspace_id = $1 and person_id = $2 and read_at is null and at <= $4
           and ($3::bigint is null or conversation_id = $3)",
        workspace,
        person.id.0,
        conversation.map(|conversation| conversation.0),
        until,
        now
    )
    .execute(&mut **tx)
    .await?;
    if read.rows_affected() > 0 {
        tx.touch(person.id.0, Topic::Notices);
    }
    Ok(())
}
