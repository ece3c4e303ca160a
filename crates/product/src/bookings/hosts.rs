//! When somebody can be booked: their zone, weekly hours on the wall, and days that are otherwise (specification 6.2). A
//! person sets their own, owners and admins anybody's.

use chrono::{Datelike, NaiveDate, TimeDelta};
use jiff::tz::TimeZone;
use serde_json::json;
use sqlx::PgConnection;

use crate::bookings::setter::Setter;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingTypeId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::inbox_settings::hours::{Hours, HoursSpan};
use rookery_core::workspace::people;

/// Spans of a day.
pub const MOST_SPANS: usize = 4;
/// Days ahead that are otherwise.
pub const MOST_DAYS: i64 = 400;

/// Somebody who can be booked, as their settings show it.
#[derive(Clone, Debug)]
pub struct Host {
    pub person: PersonId,
    pub name: String,
    pub time_zone: String,
    /// From Monday on; a day may have several spans, in order.
    pub week: Week,
    /// Days that are otherwise: their spans, or none.
    pub days: Vec<(NaiveDate, Vec<HoursSpan>)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Week(pub [Vec<HoursSpan>; 7]);

impl Week {
    /// Nine to five, five days a week.
    pub fn usual() -> Self {
        Self(Hours::usual().0.map(|span| span.into_iter().collect()))
    }
}

/// One who is on the team, with the usual hours when nobody has set any.
pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, person: PersonId) -> Result<Host> {
    let name = people::teammate(conn, workspace, person).await?.name.clone();
    let row = sqlx::query!(
        r#"select w.time_zone as workspace_zone, h.time_zone as "host_zone?"
           from workspaces w left join booking_hosts h on h.workspace_id = w.id and h.person_id = $2 where w.id = $1"#,
        workspace.0,
        person.0
    )
    .fetch_one(&mut *conn)
    .await?;
    let Some(time_zone) = row.host_zone else {
        let time_zone = row.workspace_zone;
        return Ok(Host { person, name, time_zone, week: Week::usual(), days: Vec::new() });
    };
    let hours = sqlx::query!(
        "select weekday, opens, closes from booking_hours where workspace_id = $1 and person_id = $2
         order by weekday, opens",
        workspace.0,
        person.0
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut week = Week::default();
    for row in hours {
        if let Some(day) = week.0.get_mut(usize::try_from(row.weekday - 1).unwrap_or_default()) {
            day.push(span(row.opens, row.closes));
        }
    }
    let rows = sqlx::query!(
        "select day, opens, closes from booking_days where workspace_id = $1 and person_id = $2 order by day, opens",
        workspace.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    let mut days: Vec<(NaiveDate, Vec<HoursSpan>)> = Vec::new();
    for row in rows {
        if days.last().is_none_or(|(day, _)| *day != row.day) {
            days.push((row.day, Vec::new()));
        }
        if let Some((_, spans)) = days.last_mut().filter(|_| row.closes > row.opens) {
            spans.push(span(row.opens, row.closes));
        }
    }
    Ok(Host { person, name, time_zone, week, days })
}

fn span(opens: i16, closes: i16) -> HoursSpan {
    HoursSpan(opens.unsigned_abs(), closes.unsigned_abs())
}

/// Makes somebody of the team a host, with the usual hours in the workspace's zone; one who is a host stays as they are.
pub async fn make(tx: &mut Tx<'_>, person: PersonId) -> Result<()> {
    // Whoever is being removed this very moment is not made a host.
    people::hold(tx, person).await?;
    let workspace = tx.workspace().0;
    let made = sqlx::query!(
        "insert into booking_hosts (workspace_id, person_id, time_zone)
         select $1, $2, time_zone from workspaces where id = $1 on conflict do nothing",
        workspace,
        person.0
    )
    .execute(&mut **tx)
    .await?;
    match made.rows_affected() {
        0 => Ok(()),
        _ => write_week(tx, person, &Week::usual()).await,
    }
}

/// Sets the zone and the weekly hours.
pub async fn set_week(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    person: PersonId,
    time_zone: &str,
    week: Week,
) -> Result<()> {
    setter.must(&[person])?;
    let zone = TimeZone::get(time_zone.trim()).map_err(|_| {
        Error::problem("Time zone", "is not one of those that are offered, such as Europe/Berlin")
    })?;
    let zone = zone.iana_name().unwrap_or("UTC").to_owned();
    for day in &week.0 {
        check(day)?;
    }
    make(tx, person).await?;
    let workspace = tx.workspace().0;
    // The row is the lock of the host's calendar: nobody books by hours that change meanwhile.
    sqlx::query!(
        "update booking_hosts set time_zone = $3 where workspace_id = $1 and person_id = $2",
        workspace,
        person.0,
        zone
    )
    .execute(&mut **tx)
    .await?;
    write_week(tx, person, &week).await?;
    record(tx, setter, person, json!({ "timeZone": zone })).await
}

/// Makes a day otherwise: open in these spans, or in none. Nothing makes it as usual again.
pub async fn set_day(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    person: PersonId,
    day: NaiveDate,
    spans: Option<Vec<HoursSpan>>,
) -> Result<()> {
    setter.must(&[person])?;
    if !(2000..=2200).contains(&day.year()) {
        return Err(Error::problem("Day", "must be a day such as 2031-05-09"));
    }
    if let Some(spans) = &spans {
        check(spans)?;
    }
    make(tx, person).await?;
    let workspace = tx.workspace().0;
    sqlx::query!(
        "select from booking_hosts where workspace_id = $1 and person_id = $2 for update",
        workspace,
        person.0
    )
    .execute(&mut **tx)
    .await?;
    // What is over counts for nothing, wherever the host is.
    let over = (tx.now() - TimeDelta::days(2)).date_naive();
    sqlx::query!(
        "delete from booking_days where workspace_id = $1 and person_id = $2 and (day = $3 or day < $4)",
        workspace,
        person.0,
        day,
        over
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "day": day, "asUsual": spans.is_none() });
    if let Some(spans) = spans {
        let many = sqlx::query_scalar!(
            r#"select count(distinct day) as "n!" from booking_days where workspace_id = $1 and person_id = $2"#,
            workspace,
            person.0
        )
        .fetch_one(&mut **tx)
        .await?;
        if many >= MOST_DAYS {
            return Err(Error::problem("Days", "that are otherwise can be 400 at most, remove some first"));
        }
        let spans = if spans.is_empty() { vec![HoursSpan(0, 0)] } else { spans };
        let (opens, closes) = columns(&spans);
        sqlx::query!(
            "insert into booking_days (workspace_id, person_id, day, opens, closes)
             select $1, $2, $3, opens, closes from unnest($4::smallint[], $5::smallint[]) as span (opens, closes)",
            workspace,
            person.0,
            day,
            &opens,
            &closes
        )
        .execute(&mut **tx)
        .await?;
    }
    record(tx, setter, person, data).await
}

/// Somebody leaves the team: they host nothing any more, and nobody reads their other calendars. Types without a host are
/// paused, and given back by name. What was booked with them stands until somebody decides about it.
pub async fn leave(tx: &mut Tx<'_>, by: &By, person: PersonId) -> Result<Vec<String>> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "with sources as (delete from busy_sources where workspace_id = $1 and person_id = $2)
         delete from booking_type_hosts where workspace_id = $1 and person_id = $2",
        workspace,
        person.0
    )
    .execute(&mut **tx)
    .await?;
    let paused = sqlx::query!(
        r#"update booking_types t set state = 'paused'
           where workspace_id = $1 and state = 'active' and not exists (
               select from booking_type_hosts h where h.workspace_id = $1 and h.type_id = t.id)
           returning id as "id: BookingTypeId", name"#,
        workspace
    )
    .fetch_all(&mut **tx)
    .await?;
    for row in &paused {
        let subject = Subject { id: &row.id, name: &row.name };
        audit::record(tx, by, Did::BookingTypePaused, subject, json!({ "reason": "no host" })).await?;
    }
    Ok(paused.into_iter().map(|row| row.name).collect())
}

/// In order, apart from each other, and not too many.
fn check(spans: &[HoursSpan]) -> Result<()> {
    let apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    if apart && spans.len() <= MOST_SPANS {
        Ok(())
    } else {
        Err(Error::problem("Hours", "must be in order and must not overlap, four spans a day at most"))
    }
}

async fn write_week(tx: &mut Tx<'_>, person: PersonId, week: &Week) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("delete from booking_hours where workspace_id = $1 and person_id = $2", workspace, person.0)
        .execute(&mut **tx)
        .await?;
    let spans = || (1_i16..).zip(&week.0).flat_map(|(day, spans)| spans.iter().map(move |span| (day, *span)));
    let weekdays: Vec<i16> = spans().map(|(day, _)| day).collect();
    let (opens, closes) = columns(&spans().map(|(_, span)| span).collect::<Vec<_>>());
    sqlx::query!(
        "insert into booking_hours (workspace_id, person_id, weekday, opens, closes)
         select $1, $2, weekday, opens, closes
         from unnest($3::smallint[], $4::smallint[], $5::smallint[]) as span (weekday, opens, closes)",
        workspace,
        person.0,
        &weekdays,
        &opens,
        &closes
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Minutes of a day, at most 1440.
fn columns(spans: &[HoursSpan]) -> (Vec<i16>, Vec<i16>) {
    let number = |minute: u16| i16::try_from(minute).unwrap_or(i16::MAX);
    (spans.iter().map(|span| number(span.0)).collect(), spans.iter().map(|span| number(span.1)).collect())
}

async fn record(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    person: PersonId,
    data: serde_json::Value,
) -> Result<()> {
    let name = people::name_of(tx, person).await?;
    audit::record(tx, &setter.by(), Did::BookingHoursSet, Subject { id: &person, name: &name }, data).await
}
