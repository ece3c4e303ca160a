//! When somebody is out of office, as they said under `/profile`, and the text that customers get meanwhile. Nothing has to
//! run when a period begins or ends: whether it holds is decided by comparing times (docs/decisions/out-of-office.md).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::workspace::inbox_settings::auto_reply::LONGEST_TEXT;
use crate::workspace::inbox_settings::period::ReplyPeriod;
use crate::workspace::people::Person;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::text;

/// A period that may be now, to come or over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    pub from: DateTime<Utc>,
    pub until: DateTime<Utc>,
}

impl Absence {
    /// As the columns of a person have it.
    pub fn stored(from: Option<DateTime<Utc>>, until: Option<DateTime<Utc>>) -> Option<Self> {
        from.zip(until).map(|(from, until)| Self { from, until })
    }

    pub fn holds(&self, now: DateTime<Utc>) -> bool {
        self.from <= now && now < self.until
    }
}

/// What somebody said of themselves. The text stays for the next time.
#[derive(Debug)]
pub struct OutOfOffice {
    pub absence: Option<Absence>,
    pub text: String,
}

/// What customers of somebody who is away are answered now.
#[derive(Debug)]
pub struct AwayWords {
    pub absence: Absence,
    pub text: String,
    /// The person's own address.
    pub email: String,
}

pub async fn load(conn: &mut PgConnection, workspace: WorkspaceId, person: PersonId) -> Result<OutOfOffice> {
    let row = sqlx::query!(
        "select away_from, away_until, away_text from people where workspace_id = $1 and id = $2",
        workspace.0,
        person.0
    )
    .fetch_one(conn)
    .await?;
    Ok(OutOfOffice { absence: Absence::stored(row.away_from, row.away_until), text: row.away_text })
}

/// From now on when no beginning is given.
pub async fn set(tx: &mut Tx<'_>, person: &Person, period: ReplyPeriod, words: &str) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let Some(until) = period.until else { return Err(Error::problem("until", "is required")) };
    let from = period.from.unwrap_or(now);
    if until <= now {
        return Err(Error::problem("until", "must be in the future"));
    }
    ReplyPeriod { from: Some(from), until: Some(until) }.check(now)?;
    let words = text::lines(words).trim().to_owned();
    if words.chars().count() > LONGEST_TEXT {
        return Err(Error::problem("text", format!("must be at most {LONGEST_TEXT} characters")));
    }
    sqlx::query!(
        "update people set away_from = $3, away_until = $4, away_text = $5
         where workspace_id = $1 and id = $2 and removed_at is null",
        workspace,
        person.id.0,
        from,
        until,
        words
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// They are back, or will not leave.
pub async fn end(tx: &mut Tx<'_>, person: &Person) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update people set away_from = null, away_until = null where workspace_id = $1 and id = $2",
        workspace,
        person.id.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Nothing when they are not away now, have no text or have left the team.
pub async fn words_now(tx: &mut Tx<'_>, person: PersonId) -> Result<Option<AwayWords>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let row = sqlx::query!(
        "select away_from, away_until, away_text, email from people
         where workspace_id = $1 and id = $2 and removed_at is null and away_from <= $3 and away_until > $3
           and away_text <> ''",
        workspace,
        person.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.and_then(|row| {
        let absence = Absence::stored(row.away_from, row.away_until)?;
        Some(AwayWords { absence, text: row.away_text, email: row.email })
    }))
}
