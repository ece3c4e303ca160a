//! What people are told of in the app: that a conversation was given to them, that a note names them, and news of those
//! they follow. One row for each conversation, person and reason, which news makes new again; reading the conversation
//! makes it old. Nobody is told of what they did themselves, of what they cannot see, or of the sandbox.

pub mod choices;
pub mod digest;
pub mod follows;

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::workspace::access::{By, MemberId, TEAM};
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, NotAnId, PersonId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;

/// How long something may stay unread before a mail tells of it, and how far apart two such mails are.
const UNREAD: TimeDelta = TimeDelta::minutes(10);
const APART: TimeDelta = TimeDelta::hours(1);

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Reason {
        /// The conversation was given to them.
        Assigned = "assigned",
        /// A note names them.
        Mentioned = "mentioned",
        /// The customer wrote in a conversation they follow.
        Replied = "replied",
        /// A colleague wrote a note there.
        Noted = "noted",
        /// A rule says that they should know.
        Ruled = "ruled",
        /// Everything that the customer was asked for is in.
        Documents = "documents",
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
    let followers = follows::load_followers(tx, conversation).await?;
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
    let followers = follows::load_followers(tx, conversation).await?;
    follows::takes_part(tx, conversation, mentioned).await?;
    let mut told: Vec<_> = mentioned.iter().map(|person| (*person, Reason::Mentioned)).collect();
    let others = followers.into_iter().filter(|person| !mentioned.contains(person));
    told.extend(others.map(|person| (person, Reason::Noted)));
    tell(tx, conversation, by, by.name(), &told).await
}

/// A rule tells somebody of a conversation. They do not follow it by that.
pub async fn ruled(tx: &mut Tx<'_>, conversation: &Conversation, by: &By, person: PersonId) -> Result<()> {
    tell(tx, conversation, by, by.name(), &[(person, Reason::Ruled)]).await
}

/// Everything that the customer was asked for is in.
pub async fn documents_are_in(tx: &mut Tx<'_>, conversation: &Conversation, by: &By) -> Result<()> {
    let followers = follows::load_followers(tx, conversation).await?;
    let told: Vec<_> = followers.into_iter().map(|person| (person, Reason::Documents)).collect();
    tell(tx, conversation, by, conversation.contact.called(), &told).await
}

/// Tells each. Who left the team or cannot see the conversation is passed over.
///
/// Everybody takes locks in one order, so that nobody blocks anybody: timers first, by person, then notifications, by
/// conversation and person. Those who tell share a timer; only the mail that is written takes it alone, and so finds
/// everything that was told while the timer ran.
async fn tell(
    tx: &mut Tx<'_>,
    conversation: &Conversation,
    by: &By,
    name: &str,
    told: &[(PersonId, Reason)],
) -> Result<()> {
    let doer = match by {
        By::Person { id, .. } => id.0,
        By::Agent { .. } | By::Rule { .. } | By::System => 0,
    };
    let told = told.iter().filter(|(person, _)| person.0 != doer);
    let (people, reasons): (Vec<i64>, Vec<&str>) =
        told.map(|(person, reason)| (person.0, reason.as_str())).unzip();
    if people.is_empty() || !conversation.livemode() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let wanted = sqlx::query!(
        r#"with wanted as materialized (
               select people.id, reason, coalesce(
                   (select choice from notification_choices chosen
                    where chosen.workspace_id = $1 and chosen.person_id = people.id and mailbox_id in (0, $3)
                      and kind = case when reason in ('assigned', 'mentioned') then reason else 'following' end
                    order by mailbox_id desc limit 1), 'mail') as choice
               from unnest($5::bigint[], $6::text[]) as told (person_id, reason)
               join people on people.workspace_id = $1 and people.id = told.person_id
               where removed_at is null and ($2::bigint = $4::bigint or people.id = $2)),
           timers as materialized (
               select person_id, due_at from notification_mail timer
               where workspace_id = $1 and person_id in (select id from wanted where choice <> 'off')
               order by person_id for key share of timer)
           select wanted.id, reason as "reason!", choice = 'mail' as "by_mail!",
                  choice = 'mail' and due_at is null as "untimed!"
           from wanted left join timers on person_id = wanted.id
           where choice <> 'off' order by wanted.id, reason"#,
        workspace,
        conversation.audience,
        conversation.mailbox_id.0,
        TEAM,
        &people,
        &reasons as &[&str]
    )
    .fetch_all(&mut **tx)
    .await?;
    let untimed: Vec<i64> = wanted.iter().filter(|row| row.untimed).map(|row| row.id).collect();
    start_timers(tx, &untimed).await?;
    let people: Vec<i64> = wanted.iter().map(|row| row.id).collect();
    let reasons: Vec<&str> = wanted.iter().map(|row| row.reason.as_str()).collect();
    let by_mail: Vec<bool> = wanted.iter().map(|row| row.by_mail).collect();
    // What is not to be mailed now is not mailed later either, whatever somebody chooses by then.
    sqlx::query!(
        "insert into notifications (workspace_id, conversation_id, person_id, reason, by_name, at, mailed_at)
         select $1, $2, id, reason, $3, $4::timestamptz, case when not by_mail then $4 end
         from unnest($5::bigint[], $6::text[], $7::bool[]) as told (id, reason, by_mail)
         order by id, reason
         on conflict (workspace_id, conversation_id, person_id, reason) do update
             set by_name = excluded.by_name, at = excluded.at, read_at = null, mailed_at = excluded.mailed_at",
        workspace,
        conversation.id.0,
        name,
        now,
        &people,
        &reasons as &[&str],
        &by_mail
    )
    .execute(&mut **tx)
    .await?;
    for person in people {
        tx.touch(person, LiveTopic::Notices);
    }
    Ok(())
}

/// Starts the timers that do not run. Most do, and are not written again.
async fn start_timers(tx: &mut Tx<'_>, people: &[i64]) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into notification_mail as timer (workspace_id, person_id, due_at)
         select distinct $1::bigint, id, $3::timestamptz from unnest($2::bigint[]) as untimed (id) order by id
         on conflict (workspace_id, person_id) do update
             set due_at = coalesce(timer.due_at, greatest(excluded.due_at, timer.mailed_at + make_interval(secs => $4)))",
        workspace,
        people,
        now + UNREAD,
        APART.num_seconds() as f64
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes what these conversations told of, in the order in which everybody does.
pub(super) async fn hold(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "select from notification_mail timer
         where workspace_id = $1 and person_id in (
             select person_id from notifications where workspace_id = $1 and conversation_id = any($2))
         order by person_id for key share of timer",
        workspace,
        conversations as &[ConversationId]
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "select from notifications where workspace_id = $1 and conversation_id = any($2)
         order by conversation_id, person_id, reason for update",
        workspace,
        conversations as &[ConversationId]
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A conversation is not held any more: what was told of it meanwhile, and was kept out of mail, has its time now.
pub(super) async fn released(tx: &mut Tx<'_>, conversation: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    let people = sqlx::query_scalar!(
        "select distinct person_id from notifications
         where workspace_id = $1 and conversation_id = $2 and read_at is null and mailed_at is null",
        workspace,
        conversation.0
    )
    .fetch_all(&mut **tx)
    .await?;
    start_timers(tx, &people).await
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

/// Where a line stands in the list: `1762856400000000.cnv_….noted`. Lines of one instant have an order too, so that a page
/// that ends between them loses none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotificationCursor {
    pub at: DateTime<Utc>,
    pub conversation: ConversationId,
    pub reason: Reason,
}

impl fmt::Display for NotificationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.at.timestamp_micros(), self.conversation, self.reason.as_str())
    }
}

impl FromStr for NotificationCursor {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or(NotAnId);
        let at = part()?.parse().ok().and_then(DateTime::from_timestamp_micros).ok_or(NotAnId)?;
        Ok(Self { at, conversation: part()?.parse()?, reason: Reason::named(part()?).ok_or(NotAnId)? })
    }
}

impl Notification {
    pub fn place(&self) -> NotificationCursor {
        NotificationCursor { at: self.at, conversation: self.conversation, reason: self.reason }
    }
}

/// Newest first, of conversations that the person can still see.
pub async fn list(
    conn: &mut PgConnection,
    person: &Person,
    before: Option<NotificationCursor>,
    limit: i64,
) -> Result<Vec<Notification>> {
    Ok(sqlx::query_as!(
        Notification,
        r#"select n.conversation_id as "conversation: ConversationId", n.reason as "reason: Reason", n.by_name, n.at,
                  n.read_at is null as "is_unread!", c.subject, m.name as mailbox_name
           from notifications n
           join conversations c on c.workspace_id = $1 and c.id = n.conversation_id
           join mailboxes m on m.workspace_id = $1 and m.id = c.mailbox_id
           where n.workspace_id = $1 and n.person_id = $2 and c.audience = any($4)
             and ($3::timestamptz is null or (n.at, n.conversation_id, n.reason) < ($3, $6::bigint, $7::text))
           order by n.at desc, n.conversation_id desc, n.reason desc limit $5"#,
        person.workspace.0,
        person.id.0,
        before.map(|place| place.at),
        &person.audiences(),
        limit,
        before.map(|place| place.conversation.0),
        before.map(|place| place.reason.as_str())
    )
    .fetch_all(conn)
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
        "with unread as materialized (
             select conversation_id, reason from notifications
             where workspace_id = $1 and person_id = $2 and read_at is null and at <= $4
               and ($3::bigint is null or conversation_id = $3)
             order by conversation_id, reason for update)
         update notifications n set read_at = $5 from unread
         where n.workspace_id = $1 and n.person_id = $2
           and n.conversation_id = unread.conversation_id and n.reason = unread.reason",
        workspace,
        person.id.0,
        conversation.map(|conversation| conversation.0),
        until,
        now
    )
    .execute(&mut **tx)
    .await?;
    if read.rows_affected() > 0 {
        tx.touch(person.id.0, LiveTopic::Notices);
    }
    Ok(())
}
