//! A host's other calendars, which keep times from being offered (specification 6.2): a secret feed, or a calendar server
//! that is asked for free and busy times. Whoever knows the address reads the calendar, so it is sealed and never shown
//! again; of events only their times are kept.

pub mod read;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use url::Url;

use crate::bookings::hosts;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BusySourceId, PersonId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::store::db::Tx;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::people::Person;

const PURPOSE: &str = "calendar";
pub const MOST_SOURCES: i64 = 5;
const LONGEST_SIGN_IN: usize = 300;
/// A calendar that could not be read for so long may be out of date, and its host is told.
pub const STALE: TimeDelta = TimeDelta::hours(1);

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum CalendarKind {
        /// An iCalendar file behind an address that nobody can guess.
        Feed = "feed",
        /// A calendar of a CalDAV server (RFC 4791), with a name and a password.
        Caldav = "caldav",
    }
}

/// Where a calendar is and how to sign in there: what is sealed.
#[derive(Clone, Serialize, Deserialize)]
pub struct CalendarAccess {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<(String, String)>,
}

/// A calendar as its host sees it. Of its address only the host's name is shown.
#[derive(Clone, Debug)]
pub struct CalendarSource {
    pub id: BusySourceId,
    pub kind: CalendarKind,
    pub at: String,
    pub read_at: Option<DateTime<Utc>>,
    pub failing_since: Option<DateTime<Utc>>,
    pub problem: Option<String>,
    pub times: i64,
}

/// As a form has it.
pub struct CalendarForm<'a> {
    pub kind: CalendarKind,
    pub address: &'a str,
    pub name: &'a str,
    pub password: &'a str,
}

/// Connects a calendar of somebody's own. It is read within moments.
pub async fn connect(app: &App, person: &Person, typed: CalendarForm<'_>) -> Result<BusySourceId> {
    let place = place(app, &typed).await?;
    let mut tx = app.begin(person.workspace).await?;
    hosts::make(&mut tx, person.id).await?;
    let (workspace, now) = (tx.workspace(), tx.now());
    // One after the other, so that there are never more than there may be.
    sqlx::query!(
        "select from booking_hosts where workspace_id = $1 and person_id = $2 for update",
        workspace.0,
        person.id.0
    )
    .execute(&mut *tx)
    .await?;
    let many = sqlx::query_scalar!(
        r#"select count(*) as "n!" from busy_sources where workspace_id = $1 and person_id = $2"#,
        workspace.0,
        person.id.0
    )
    .fetch_one(&mut *tx)
    .await?;
    if many >= MOST_SOURCES {
        return Err(Error::problem("Calendars", "can be five at most, remove one first"));
    }
    let id: BusySourceId = tx.mint();
    let (keys, random) = (tx.frame().needs_keys()?.clone(), tx.frame().random.clone());
    let plain = serde_json::to_vec(&place)?;
    let sealed = sealed::seal(&keys, &random, PURPOSE, &sealed::place(workspace, id), &plain)?;
    sqlx::query!(
        "insert into busy_sources (workspace_id, person_id, id, kind, url, due_at) values ($1, $2, $3, $4, $5, $6)",
        workspace.0,
        person.id.0,
        id.0,
        typed.kind.as_str(),
        sealed,
        now
    )
    .execute(&mut *tx)
    .await?;
    let data = json!({ "calendar": id, "kind": typed.kind.as_str() });
    let subject = Subject { id: &person.id, name: &person.name };
    audit::record(&mut tx, &person.by(), Did::CalendarConnected, subject, data).await?;
    tx.commit().await?;
    Ok(id)
}

/// Disconnects one of somebody's own, and forgets its times.
pub async fn disconnect(tx: &mut Tx<'_>, person: &Person, id: BusySourceId) -> Result<()> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "delete from busy_sources where workspace_id = $1 and person_id = $2 and id = $3",
        workspace,
        person.id.0,
        id.0
    )
    .execute(&mut **tx)
    .await?;
    if gone.rows_affected() == 0 {
        return Err(Error::Missing("No such calendar."));
    }
    let subject = Subject { id: &person.id, name: &person.name };
    audit::record(tx, &person.by(), Did::CalendarDisconnected, subject, json!({ "calendar": id })).await
}

/// The calendars of somebody's own.
pub async fn list(conn: &mut PgConnection, keys: &KeyRing, person: &Person) -> Result<Vec<CalendarSource>> {
    let rows = sqlx::query!(
        r#"select id as "id: BusySourceId", kind as "kind: CalendarKind", url, read_at, failing_since, problem,
               (select count(*) from busy_times t
                where t.workspace_id = $1 and t.person_id = $2 and t.source_id = s.id) as "times!"
           from busy_sources s where workspace_id = $1 and person_id = $2 order by id"#,
        person.workspace.0,
        person.id.0
    )
    .fetch_all(conn)
    .await?;
    let host = |id, sealed: &[u8]| {
        let opened = open(keys, person.workspace, id, sealed).ok()?;
        Some(opened.url.parse::<Url>().ok()?.host_str()?.to_owned())
    };
    let each = rows.into_iter().map(|row| CalendarSource {
        at: host(row.id, &row.url).unwrap_or_else(|| "an address that cannot be read any more".to_owned()),
        id: row.id,
        kind: row.kind,
        read_at: row.read_at,
        failing_since: row.failing_since,
        problem: row.problem,
        times: row.times,
    });
    Ok(each.collect())
}

async fn place(app: &App, typed: &CalendarForm<'_>) -> Result<CalendarAccess> {
    let address = typed.address.trim();
    // Programs hand feeds out with a scheme of their own.
    let address = match address.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("webcal") => format!("https://{rest}"),
        _ => address.to_owned(),
    };
    let url = app.outside.a_public_address("Address", &address).await?;
    let sign_in = match (typed.name.trim(), typed.password) {
        ("", "") if typed.kind == CalendarKind::Caldav => {
            return Err(Error::problem("Name", "and password are required, as for your calendar program"));
        }
        ("", "") => None,
        (name, password) if name.is_empty() || password.is_empty() => {
            return Err(Error::problem("Name", "and password belong together"));
        }
        (name, password) => {
            let sound =
                |text: &str| text.chars().count() <= LONGEST_SIGN_IN && !text.contains(char::is_control);
            if !sound(name) || !sound(password) || name.contains(':') {
                return Err(Error::problem("Name", "or password has characters that cannot be sent"));
            }
            Some((name.to_owned(), password.to_owned()))
        }
    };
    Ok(CalendarAccess { url: url.into(), sign_in })
}

fn open(keys: &KeyRing, workspace: WorkspaceId, id: BusySourceId, sealed: &[u8]) -> Result<CalendarAccess> {
    let plain = sealed::open(keys, PURPOSE, &sealed::place(workspace, id), sealed)?;
    // The parser's own complaint could repeat the address.
    serde_json::from_slice(&plain).map_err(|_| Error::internal("the address of a calendar cannot be read"))
}

/// Every sealed address of these workspaces.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<BusySourceId>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: BusySourceId", url
           from busy_sources where workspace_id = any($1)"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, row.id, PURPOSE, row.url)).collect())
}

/// Puts another seal in place of the one that was read. False when it has changed since.
pub async fn replace(tx: &mut Tx<'_>, id: BusySourceId, old: &[u8], new: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let put = sqlx::query!(
        "update busy_sources set url = $4 where workspace_id = $1 and id = $2 and url = $3",
        workspace,
        id.0,
        old,
        new
    )
    .execute(&mut **tx)
    .await?;
    Ok(put.rows_affected() == 1)
}

/// Which calendar, and whose.
struct Owner {
    workspace: WorkspaceId,
    person: PersonId,
    id: BusySourceId,
}
