//! Sessions of people in the app: an opaque token in a cookie, whose hash is kept here. A session ends 12 hours after its
//! last use, 30 days after it began, when it is signed out, and when its person leaves the team.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::workspace::access::By;
use crate::workspace::agents::stop::Stopped;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::{self, Person, Role};
use crate::workspace::preferences::{DateStyle, Dates, Theme};
use rookery_base::error::Result;
use rookery_base::ids::{PersonId, SessionId, WorkspaceId};
use rookery_base::live::streams;
use rookery_base::live::topic::LiveTopic;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;
use rookery_reading::text;

const IDLE: TimeDelta = TimeDelta::hours(12);
pub const WHOLE: TimeDelta = TimeDelta::days(30);
/// How long a proof lasts. Who has just read their mail may set a password without the old one; what gives others power is
/// changed only by who has just shown who they are.
const FRESH: TimeDelta = TimeDelta::minutes(60);
/// How stale `seen_at` may become before a request writes it anew.
const SEEN: TimeDelta = TimeDelta::minutes(5);
const MOST_BROWSER: usize = 200;

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum SignedInWith {
        Link = "link",
        Password = "password",
        Sso = "sso",
        Passkey = "passkey",
    }
}

/// A session that is good now, and what its person chose for every page.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: SessionId,
    pub workspace_name: String,
    pub began_at: DateTime<Utc>,
    /// When its person showed who they are: at a provider that may have been before the session began. Nothing when nobody
    /// knows.
    pub proved_at: Option<DateTime<Utc>>,
    pub with: SignedInWith,
    /// `seen_at` is old enough to be written anew.
    pub is_stale: bool,
    /// An IANA name.
    pub zone: String,
    pub theme: Theme,
    /// Whether single keys do something.
    pub keys: bool,
    /// Since when every agent of the workspace is stopped, and by whom.
    pub agents_stopped: Option<Stopped>,
    /// How this person reads dates.
    pub dates: Dates,
    /// How long this person can take back a mail of their own.
    pub undo_seconds: i32,
    /// The workspace asks everybody for a second factor, and this person came without one and has none yet.
    pub owes_second_factor: bool,
}

impl Session {
    /// Whether this person has just shown who they are.
    pub fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        is_recent(self.proved_at, now)
    }

    /// Whether this person has just read a mail to their address. What they proved since then, by something else, says
    /// nothing about that.
    pub fn is_fresh_from_mail(&self, now: DateTime<Utc>) -> bool {
        self.with == SignedInWith::Link && self.is_fresh(now) && is_recent(Some(self.began_at), now)
    }

    /// Whether this person has just come in by the provider as it has been since then.
    pub fn is_fresh_from_sso(&self, since: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        self.with == SignedInWith::Sso && self.began_at >= since && is_recent(Some(self.began_at), now)
    }
}

/// Whether somebody showed who they are a moment ago.
pub fn is_recent(proved_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    proved_at.is_some_and(|at| at + FRESH > now)
}

/// A session in its person's list.
pub struct ListedSession {
    pub id: SessionId,
    pub browser: String,
    pub with: SignedInWith,
    pub began_at: DateTime<Utc>,
    pub seen_at: DateTime<Utc>,
}

/// Begins a session of somebody who shows who they are now, and gives the text of its token, which is not kept.
pub async fn begin(tx: &mut Tx<'_>, person: PersonId, browser: &str, with: SignedInWith) -> Result<String> {
    let now = tx.now();
    begin_proved(tx, person, browser, with, Some(now)).await
}

/// The same for somebody who has shown it elsewhere, then.
pub async fn begin_proved(
    tx: &mut Tx<'_>,
    person: PersonId,
    browser: &str,
    with: SignedInWith,
    proved_at: Option<DateTime<Utc>>,
) -> Result<String> {
    let (token, text) = Token::mint(tx.workspace(), &tx.frame().random);
    let (workspace, now) = (tx.workspace().0, tx.now());
    let id: SessionId = tx.mint();
    let browser: String = text::line(browser).chars().take(MOST_BROWSER).collect();
    sqlx::query!(
        "insert into sessions
             (workspace_id, id, token_hash, person_id, created_at, seen_at, ends_at, browser, signed_in_with, proved_at)
         values ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9)",
        workspace,
        id.0,
        token.hash.as_slice(),
        person.0,
        now,
        now + WHOLE,
        browser,
        with as SignedInWith,
        proved_at
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "update people set signed_in_at = $3 where workspace_id = $1 and id = $2",
        workspace,
        person.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(text)
}

/// Notes in the audit log that somebody signed in, with what and from where. A server without a secret key has no such
/// log, and still lets people in.
pub async fn record(tx: &mut Tx<'_>, person: PersonId, data: Value) -> Result<()> {
    if tx.frame().keys.is_none() {
        return Ok(());
    }
    let name = people::name_of(tx, person).await?;
    let by = By::Person { id: person, name: name.clone() };
    audit::record(tx, &by, Did::SignedIn, Subject { id: &person, name: &name }, data).await
}

/// Whose session it is, if it is good.
pub async fn find(
    conn: &mut PgConnection,
    token: &Token,
    now: DateTime<Utc>,
) -> Result<Option<(Session, Person)>> {
    let row = sqlx::query!(
        r#"select sessions.id as "id: SessionId", person_id as "person: PersonId", sessions.created_at, seen_at, proved_at,
                  signed_in_with as "with: SignedInWith", people.name, people.role as "role: Role",
                  coalesce(zone, time_zone) as "zone!", theme as "theme: Theme", single_keys,
                  date_style as "date_style: DateStyle", twelve_hours, undo_seconds,
                  workspaces.name as workspace_name, agents_stopped_at, agents_stopped_by,
                  (second_factor_required and signed_in_with in ('link', 'password') and not exists (
                      select from second_factors where workspace_id = $1 and second_factors.person_id = people.id))
                      as "owes_second_factor!"
           from sessions
           join people on people.workspace_id = $1 and people.id = person_id and removed_at is null
           join workspaces on workspaces.id = $1
           where sessions.workspace_id = $1 and token_hash = $2 and ends_at > $3 and seen_at > $4"#,
        token.workspace.0,
        token.hash.as_slice(),
        now,
        now - IDLE
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let session = Session {
            id: row.id,
            workspace_name: row.workspace_name,
            began_at: row.created_at,
            proved_at: row.proved_at,
            with: row.with,
            is_stale: row.seen_at < now - SEEN,
            zone: row.zone,
            theme: row.theme,
            keys: row.single_keys,
            dates: Dates { style: row.date_style, twelve_hours: row.twelve_hours },
            undo_seconds: row.undo_seconds,
            agents_stopped: Stopped::stored(row.agents_stopped_at, row.agents_stopped_by),
            owes_second_factor: row.owes_second_factor,
        };
        (session, people::at_work(token.workspace, row.person, row.name, row.role))
    }))
}

/// Which of these sessions are still good, in one query.
pub async fn good(
    conn: &mut PgConnection,
    asked: &[streams::StreamSession],
    now: DateTime<Utc>,
) -> Result<HashSet<streams::StreamSession>> {
    let (workspaces, ids): (Vec<i64>, Vec<i64>) =
        asked.iter().map(|session| (session.workspace.0, session.id.0)).unzip();
    let good = sqlx::query!(
        r#"select sessions.workspace_id as "workspace: WorkspaceId", sessions.id
           from unnest($1::bigint[], $2::bigint[]) as asked (workspace_id, id)
           join sessions on sessions.workspace_id = asked.workspace_id and sessions.id = asked.id
           join people on people.workspace_id = asked.workspace_id and people.id = person_id and removed_at is null
           where ends_at > $3 and seen_at > $4"#,
        &workspaces,
        &ids,
        now,
        now - IDLE
    )
    .fetch_all(conn)
    .await?;
    Ok(good
        .into_iter()
        .map(|row| streams::StreamSession { workspace: row.workspace, id: SessionId(row.id) })
        .collect())
}

/// Notes that a session is in use.
pub async fn seen(tx: &mut Tx<'_>, session: SessionId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update sessions set seen_at = $3 where workspace_id = $1 and id = $2 and seen_at < $3",
        workspace,
        session.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Those of a person that are good now, the one used last first.
pub async fn list(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    person: PersonId,
    now: DateTime<Utc>,
) -> Result<Vec<ListedSession>> {
    Ok(sqlx::query_as!(
        ListedSession,
        r#"select id as "id: SessionId", browser, signed_in_with as "with: SignedInWith", created_at as began_at, seen_at
           from sessions where workspace_id = $1 and person_id = $2 and ends_at > $3 and seen_at > $4
           order by seen_at desc, id desc limit 100"#,
        workspace.0,
        person.0,
        now,
        now - IDLE
    )
    .fetch_all(conn)
    .await?)
}

/// Signs a session of this person out. Another's is not touched.
pub async fn end(tx: &mut Tx<'_>, person: PersonId, session: SessionId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from sessions where workspace_id = $1 and id = $2 and person_id = $3",
        workspace,
        session.0,
        person.0
    )
    .execute(&mut **tx)
    .await?;
    tx.touch(person.0, LiveTopic::Rights);
    Ok(())
}

/// Signs a person out everywhere but here.
pub async fn end_others(tx: &mut Tx<'_>, person: PersonId, here: SessionId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from sessions where workspace_id = $1 and person_id = $2 and id <> $3",
        workspace,
        person.0,
        here.0
    )
    .execute(&mut **tx)
    .await?;
    tx.touch(person.0, LiveTopic::Rights);
    Ok(())
}

/// Signs a person out of everything that began in this way, but here.
pub async fn end_those_with(
    tx: &mut Tx<'_>,
    person: PersonId,
    with: SignedInWith,
    here: SessionId,
) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from sessions where workspace_id = $1 and person_id = $2 and signed_in_with = $3 and id <> $4",
        workspace,
        person.0,
        with.as_str(),
        here.0
    )
    .execute(&mut **tx)
    .await?;
    tx.touch(person.0, LiveTopic::Rights);
    Ok(())
}

/// Signs a person out everywhere.
pub async fn end_all(tx: &mut Tx<'_>, person: PersonId) -> Result<()> {
    end_others(tx, person, SessionId(0)).await
}

/// Gives a session a new token, after a change of what it opens. The old one opens nothing any more.
pub async fn renew(tx: &mut Tx<'_>, session: SessionId) -> Result<String> {
    let (token, text) = Token::mint(tx.workspace(), &tx.frame().random);
    sqlx::query!(
        "update sessions set token_hash = $3 where workspace_id = $1 and id = $2",
        token.workspace.0,
        session.0,
        token.hash.as_slice()
    )
    .execute(&mut **tx)
    .await?;
    Ok(text)
}

/// Notes that the person of a session has just shown who they are, and gives it a new token: a copy of the old one that
/// somebody took opens nothing any more. None if the session ended meanwhile.
pub async fn prove(tx: &mut Tx<'_>, person: PersonId, session: SessionId) -> Result<Option<String>> {
    let (token, text) = Token::mint(tx.workspace(), &tx.frame().random);
    let now = tx.now();
    let proved = sqlx::query!(
        "update sessions set token_hash = $4, proved_at = $5, seen_at = $5
         where workspace_id = $1 and id = $2 and person_id = $3 and ends_at > $5",
        token.workspace.0,
        session.0,
        person.0,
        token.hash.as_slice(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok((proved.rows_affected() == 1).then_some(text))
}

/// Deletes sessions that have ended.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "sessions", "ends_at", now, 1000)
}
