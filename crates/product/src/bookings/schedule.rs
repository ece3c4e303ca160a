//! What the free times of a type follow from: the type, its hosts with their hours, and what is taken as far ahead as it can
//! be booked. What was booked before or is further ahead costs nothing.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::bookings::free_times::{FreeTime, Host, Open, Rules, Stretch, free_times};
use crate::bookings::questions::Question;
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, BookingTypeId, MailboxId, PersonId, WorkspaceId};
use rookery_base::zone::Zone;

/// How long a visitor can take a cancellation back. Nobody else gets the time before.
pub const TAKE_BACK: TimeDelta = TimeDelta::minutes(10);
/// Longer than a booking can keep its host, with what is kept free around it.
const LONGEST_HELD: TimeDelta = TimeDelta::days(1);

/// A type of booking as it is booked.
#[derive(Clone, Debug)]
pub struct Bookable {
    pub workspace: WorkspaceId,
    pub workspace_name: String,
    pub workspace_slug: String,
    pub id: BookingTypeId,
    pub slug: String,
    pub name: String,
    pub about: String,
    pub place: String,
    pub mailbox: MailboxId,
    pub rules: Rules,
    /// How long before it begins the visitor is reminded.
    pub remind: Option<TimeDelta>,
    pub questions: Vec<Question>,
    /// Pages of these origins may show it in a frame.
    pub embed_origins: Vec<String>,
    /// Not paused and not removed, and its inbox may send what becomes of a booking.
    pub is_active: bool,
}

macro_rules! bookable {
    ($conn:expr, $where:literal, $($value:expr),*) => {
        sqlx::query!(
            r#"select w.name as workspace_name, w.slug as workspace_slug, t.id as "id: BookingTypeId", t.slug,
                   t.name, t.about, t.place, t.mailbox_id as "mailbox: MailboxId", t.minutes, t.step,
                   t.before_minutes, t.after_minutes, t.notice_minutes, t.horizon_days, t.daily_limit,
                   t.remind_minutes, t.questions as "questions: Json<Vec<Question>>", t.embed_origins, t.state,
                   m.unproven_at is null as "may_send!"
               from booking_types t join workspaces w on w.id = t.workspace_id
               join mailboxes m on m.workspace_id = t.workspace_id and m.id = t.mailbox_id
               where t.workspace_id = $1 and "# + $where,
            $($value),*
        )
        .fetch_optional($conn)
        .await?
    };
}

macro_rules! bookable_of {
    ($workspace:expr, $row:expr) => {
        $row.map(|row| Bookable {
            workspace: $workspace,
            workspace_name: row.workspace_name,
            workspace_slug: row.workspace_slug,
            id: row.id,
            slug: row.slug,
            name: row.name,
            about: row.about,
            place: row.place,
            mailbox: row.mailbox,
            rules: Rules {
                length: TimeDelta::minutes(row.minutes.into()),
                step: TimeDelta::minutes(row.step.into()),
                before: TimeDelta::minutes(row.before_minutes.into()),
                after: TimeDelta::minutes(row.after_minutes.into()),
                notice: TimeDelta::minutes(row.notice_minutes.into()),
                horizon: TimeDelta::days(row.horizon_days.into()),
                daily_limit: row.daily_limit.and_then(|limit| usize::try_from(limit).ok()),
            },
            remind: row.remind_minutes.map(|minutes| TimeDelta::minutes(minutes.into())),
            questions: row.questions.0,
            embed_origins: row.embed_origins,
            is_active: row.state == "active" && row.may_send,
        })
    };
}

/// By the name in its page's address. One that was removed is not there.
pub async fn named(conn: &mut PgConnection, workspace: WorkspaceId, slug: &str) -> Result<Option<Bookable>> {
    let row = bookable!(conn, "t.slug = $2 and t.state <> 'removed'", workspace.0, slug);
    Ok(bookable_of!(workspace, row))
}

pub async fn of_type(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: BookingTypeId,
) -> Result<Option<Bookable>> {
    let row = bookable!(conn, "t.id = $2", workspace.0, id.0);
    Ok(bookable_of!(workspace, row))
}

/// By the lower half of its id, as short addresses have it. One that was removed is not there.
pub async fn ending(conn: &mut PgConnection, workspace: WorkspaceId, end: u32) -> Result<Option<Bookable>> {
    let end = i64::from(end);
    let row = bookable!(conn, "t.id & 4294967295 = $2 and t.state <> 'removed'", workspace.0, end);
    Ok(bookable_of!(workspace, row))
}

/// The first times that can be booked now.
pub async fn free(
    conn: &mut PgConnection,
    bookable: &Bookable,
    now: DateTime<Utc>,
    most: usize,
) -> Result<Vec<FreeTime>> {
    if !bookable.is_active {
        return Ok(Vec::new());
    }
    let hosts = hosts(conn, bookable, now, None).await?;
    Ok(free_times(&bookable.rules, &hosts, now, bookable.rules.ahead(now)).take(most).collect())
}

/// Those who are free at this very time.
pub async fn free_at(
    conn: &mut PgConnection,
    bookable: &Bookable,
    now: DateTime<Utc>,
    at: DateTime<Utc>,
    moved: Option<BookingId>,
) -> Result<Vec<Host>> {
    if !bookable.is_active {
        return Ok(Vec::new());
    }
    let mut hosts = hosts(conn, bookable, now, moved).await?;
    hosts.retain(|host| host.is_free(&bookable.rules, now, at));
    Ok(hosts)
}

/// Those of the team who take this type, by their ids.
pub async fn hosts(
    conn: &mut PgConnection,
    bookable: &Bookable,
    now: DateTime<Utc>,
    moved: Option<BookingId>,
) -> Result<Vec<Host>> {
    let workspace = bookable.workspace.0;
    let rows = sqlx::query!(
        r#"select h.person_id as "id: PersonId", p.name, h.time_zone, of.last_booked_at
           from booking_type_hosts of
           join booking_hosts h on h.workspace_id = of.workspace_id and h.person_id = of.person_id
           join people p on p.workspace_id = h.workspace_id and p.id = h.person_id
           where of.workspace_id = $1 and of.type_id = $2 and p.removed_at is null order by h.person_id"#,
        workspace,
        bookable.id.0
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut hosts: Vec<Host> = rows
        .into_iter()
        .map(|row| Host {
            id: row.id,
            name: row.name,
            zone: Zone::named(&row.time_zone),
            hours: Vec::new(),
            days: Vec::new(),
            taken: Vec::new(),
            booked: Vec::new(),
            last_booked_at: row.last_booked_at,
        })
        .collect();
    let ids: Vec<i64> = hosts.iter().map(|host| host.id.0).collect();
    add_hours(conn, workspace, &ids, now, &mut hosts).await?;
    add_taken(conn, bookable, &ids, now, moved, &mut hosts).await?;
    Ok(hosts)
}

fn find_host(hosts: &mut [Host], id: i64) -> Option<&mut Host> {
    hosts.iter_mut().find(|host| host.id.0 == id)
}

async fn add_hours(
    conn: &mut PgConnection,
    workspace: i64,
    ids: &[i64],
    now: DateTime<Utc>,
    hosts: &mut [Host],
) -> Result<()> {
    let hours = sqlx::query!(
        "select person_id, weekday, opens, closes from booking_hours
         where workspace_id = $1 and person_id = any($2)",
        workspace,
        ids
    )
    .fetch_all(&mut *conn)
    .await?;
    for row in hours {
        if let Some(host) = find_host(hosts, row.person_id) {
            host.hours.push((row.weekday, Open { opens: row.opens, closes: row.closes }));
        }
    }
    let days = sqlx::query!(
        "select person_id, day, opens, closes from booking_days
         where workspace_id = $1 and person_id = any($2) and day >= $3",
        workspace,
        ids,
        (now - LONGEST_HELD).date_naive()
    )
    .fetch_all(conn)
    .await?;
    for row in days {
        if let Some(host) = find_host(hosts, row.person_id) {
            host.days.push((row.day, Open { opens: row.opens, closes: row.closes }));
        }
    }
    Ok(())
}

async fn add_taken(
    conn: &mut PgConnection,
    bookable: &Bookable,
    ids: &[i64],
    now: DateTime<Utc>,
    moved: Option<BookingId>,
    hosts: &mut [Host],
) -> Result<()> {
    let (from, to) = (now - LONGEST_HELD, now + bookable.rules.horizon + LONGEST_HELD);
    let workspace = bookable.workspace.0;
    let held = sqlx::query!(
        r#"select host_id as "host_id!", type_id as "type_id!", starts_at as "starts_at!",
               lower(held) as "from!", upper(held) as "to!", true as "is_booked!"
           from bookings where workspace_id = $1 and host_id = any($2) and state = 'booked'
             and starts_at >= $3 and starts_at < $4 and id <> $5
           union all
           select host_id, type_id, starts_at, lower(held), upper(held), false
           from bookings where workspace_id = $1 and host_id = any($2) and state = 'cancelled'
             and ended_by = 'visitor' and ended_at > $6"#,
        workspace,
        ids,
        from,
        to,
        moved.map_or(0, |id| id.0),
        now - TAKE_BACK
    )
    .fetch_all(&mut *conn)
    .await?;
    for row in held {
        if let Some(host) = find_host(hosts, row.host_id) {
            host.taken.push(Stretch { from: row.from, to: row.to });
            if row.is_booked && row.type_id == bookable.id.0 {
                host.booked.push(row.starts_at);
            }
        }
    }
    let busy = sqlx::query!(
        "select person_id, starts_at, ends_at from busy_times
         where workspace_id = $1 and person_id = any($2) and starts_at < $3 and ends_at > $4",
        workspace,
        ids,
        to,
        from
    )
    .fetch_all(conn)
    .await?;
    for row in busy {
        if let Some(host) = find_host(hosts, row.person_id) {
            host.taken.push(Stretch { from: row.starts_at, to: row.ends_at });
        }
    }
    Ok(())
}
