//! What can be booked: a type has a page of its own, a length, rules for its times, up to five questions and one or several
//! hosts, who take turns (specification 6.2, D276). A type that is paused shows no times; one that is removed keeps its
//! bookings.

pub mod settings;

use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::bookings::hosts;
use crate::bookings::link::NO_TYPE;
use crate::bookings::questions::Question;
use crate::bookings::setter::Setter;
use crate::bookings::types::settings::Settings;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingTypeId, MailboxId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::{Actor, TEAM};
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_reading::text;

/// Types of a workspace that are not removed.
pub const MOST_TYPES: i64 = 100;

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum BookingTypeState {
        Active = "active",
        Paused = "paused",
        Removed = "removed",
    }
}

/// A type as it is stored.
#[derive(Clone, Debug)]
pub struct BookingType {
    pub id: BookingTypeId,
    pub state: BookingTypeState,
    pub settings: Settings,
    /// In the order of their names.
    pub host_names: Vec<String>,
}

impl BookingType {
    pub fn is_active(&self) -> bool {
        self.state == BookingTypeState::Active
    }
}

/// Where the page of a type is, below our origin.
pub fn path(workspace_slug: &str, slug: &str) -> String {
    format!("book/{workspace_slug}/{slug}")
}

/// What the addresses of a workspace's pages begin with.
pub async fn workspace_slug(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<String> {
    Ok(sqlx::query_scalar!("select slug from workspaces where id = $1", workspace.0).fetch_one(conn).await?)
}

/// What the address of its page ends with.
pub async fn slug_of(conn: &mut PgConnection, workspace: WorkspaceId, id: BookingTypeId) -> Result<String> {
    Ok(sqlx::query_scalar!(
        "select slug from booking_types where workspace_id = $1 and id = $2",
        workspace.0,
        id.0
    )
    .fetch_one(conn)
    .await?)
}

/// All types that are not removed, by name. There are none in the sandbox (D279).
pub async fn list(conn: &mut PgConnection, actor: &Actor) -> Result<Vec<BookingType>> {
    if actor.livemode { read(conn, actor.workspace, None).await } else { Ok(Vec::new()) }
}

pub async fn find(conn: &mut PgConnection, actor: &Actor, id: BookingTypeId) -> Result<BookingType> {
    if actor.livemode {
        read(conn, actor.workspace, Some(id)).await?.into_iter().next().ok_or(NO_TYPE)
    } else {
        Err(NO_TYPE)
    }
}

async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: Option<BookingTypeId>,
) -> Result<Vec<BookingType>> {
    let rows = sqlx::query!(
        r#"select id as "id: BookingTypeId", mailbox_id as "mailbox: MailboxId", slug, name, about, place, minutes, step,
               before_minutes, after_minutes, notice_minutes, horizon_days, daily_limit, remind_minutes,
               questions as "questions: Json<Vec<Question>>", embed_origins, state as "state: BookingTypeState",
               array(select h.person_id from booking_type_hosts h join people p
                         on p.workspace_id = $1 and p.id = h.person_id
                     where h.workspace_id = $1 and h.type_id = t.id order by p.name, p.id) as "hosts!: Vec<PersonId>",
               array(select p.name from booking_type_hosts h join people p
                         on p.workspace_id = $1 and p.id = h.person_id
                     where h.workspace_id = $1 and h.type_id = t.id order by p.name, p.id) as "host_names!"
           from booking_types t
           where workspace_id = $1 and state <> 'removed' and ($2::bigint is null or id = $2)
           order by lower(name), id limit $3"#,
        workspace.0,
        id.map(|id| id.0),
        MOST_TYPES
    )
    .fetch_all(conn)
    .await?;
    let each = rows.into_iter().map(|row| BookingType {
        id: row.id,
        state: row.state,
        host_names: row.host_names,
        settings: Settings {
            name: row.name,
            slug: row.slug,
            about: row.about,
            place: row.place,
            mailbox: Some(row.mailbox),
            minutes: row.minutes,
            step: row.step,
            before: row.before_minutes,
            after: row.after_minutes,
            notice: row.notice_minutes,
            horizon_days: row.horizon_days,
            daily_limit: row.daily_limit,
            remind: row.remind_minutes,
            questions: row.questions.0,
            embed_origins: row.embed_origins,
            hosts: row.hosts,
        },
    });
    Ok(each.collect())
}

/// Makes a type. Whoever has no hours yet gets the usual ones.
pub async fn create(tx: &mut Tx<'_>, setter: Setter<'_>, settings: Settings) -> Result<BookingTypeId> {
    let (settings, mailbox) = prepared(tx, setter, settings, None).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    let many = sqlx::query_scalar!(
        r#"select count(*) as "n!" from booking_types where workspace_id = $1 and state <> 'removed'"#,
        workspace
    )
    .fetch_one(&mut **tx)
    .await?;
    if many >= MOST_TYPES {
        return Err(Error::problem(
            "Booking types",
            format!("can be {MOST_TYPES} at most, remove one first"),
        ));
    }
    let id: BookingTypeId = tx.mint();
    sqlx::query!(
        "insert into booking_types
             (workspace_id, id, mailbox_id, slug, name, about, place, minutes, step, before_minutes, after_minutes,
              notice_minutes, horizon_days, daily_limit, remind_minutes, questions, embed_origins, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        workspace,
        id.0,
        mailbox.0,
        settings.slug,
        settings.name,
        settings.about,
        settings.place,
        settings.minutes,
        settings.step,
        settings.before,
        settings.after,
        settings.notice,
        settings.horizon_days,
        settings.daily_limit,
        settings.remind,
        Json(&settings.questions) as _,
        &settings.embed_origins,
        now
    )
    .execute(&mut **tx)
    .await?;
    set_hosts(tx, id, &settings.hosts).await?;
    record(tx, setter, Did::BookingTypeMade, id, &settings.name, settings.audit_data()).await?;
    Ok(id)
}

/// Changes all of a type. Bookings that were made stay as they are.
pub async fn change(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    id: BookingTypeId,
    settings: Settings,
) -> Result<()> {
    locked(tx, setter, id).await?;
    let (settings, mailbox) = prepared(tx, setter, settings, Some(id)).await?;
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update booking_types set mailbox_id = $3, slug = $4, name = $5, about = $6, place = $7, minutes = $8, step = $9,
             before_minutes = $10, after_minutes = $11, notice_minutes = $12, horizon_days = $13, daily_limit = $14,
             remind_minutes = $15, questions = $16, embed_origins = $17
         where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        mailbox.0,
        settings.slug,
        settings.name,
        settings.about,
        settings.place,
        settings.minutes,
        settings.step,
        settings.before,
        settings.after,
        settings.notice,
        settings.horizon_days,
        settings.daily_limit,
        settings.remind,
        Json(&settings.questions) as _,
        &settings.embed_origins
    )
    .execute(&mut **tx)
    .await?;
    set_hosts(tx, id, &settings.hosts).await?;
    record(tx, setter, Did::BookingTypeChanged, id, &settings.name, settings.audit_data()).await
}

/// Pauses, resumes or removes it. What was booked stands, whatever becomes of its type.
pub async fn turn(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    id: BookingTypeId,
    to: BookingTypeState,
) -> Result<()> {
    let (name, state) = locked(tx, setter, id).await?;
    if state == to {
        return Ok(());
    }
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update booking_types set state = $3 where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        to.as_str()
    )
    .execute(&mut **tx)
    .await?;
    let did = match to {
        BookingTypeState::Active => Did::BookingTypeResumed,
        BookingTypeState::Paused => Did::BookingTypePaused,
        BookingTypeState::Removed => Did::BookingTypeRemoved,
    };
    record(tx, setter, did, id, &name, json!({})).await
}

/// Checks the settings, and holds what they name.
async fn prepared(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    settings: Settings,
    own: Option<BookingTypeId>,
) -> Result<(Settings, MailboxId)> {
    let settings = settings.checked()?;
    setter.must(&settings.hosts)?;
    let workspace = tx.workspace().0;
    // Two people who choose one address at once: the second waits here, and is told.
    sqlx::query!("select from workspaces where id = $1 for no key update", workspace)
        .execute(&mut **tx)
        .await?;
    let taken = sqlx::query_scalar!(
        r#"select exists (select from booking_types
                          where workspace_id = $1 and slug = $2 and state <> 'removed'
                            and id is distinct from $3) as "taken!""#,
        workspace,
        settings.slug,
        own.map(|own| own.0)
    )
    .fetch_one(&mut **tx)
    .await?;
    if taken {
        return Err(Error::problem("Address", "is taken by another booking type, choose another"));
    }
    for host in &settings.hosts {
        hosts::make(tx, *host).await?;
    }
    // Of the team, or of the only host's own: what comes back over it is theirs to read.
    let owner = match settings.hosts[..] {
        [only] => only.0,
        _ => TEAM,
    };
    let audiences = vec![TEAM, owner];
    let mailbox = sqlx::query_scalar!(
        r#"select id as "id: MailboxId" from mailboxes
           where workspace_id = $1 and closed_at is null and audience = any($2) and ($3::bigint is null or id = $3)
           order by audience <> 0, id limit 1"#,
        workspace,
        &audiences,
        settings.mailbox.map(|mailbox| mailbox.0)
    )
    .fetch_optional(&mut **tx)
    .await?;
    let what = match settings.mailbox {
        Some(_) => "must be one of the team, or the only host's own",
        None => "is needed that invitations come from, make one first",
    };
    mailbox.map(|mailbox| (settings, mailbox)).ok_or_else(|| Error::problem("Inbox", what))
}

async fn set_hosts(tx: &mut Tx<'_>, id: BookingTypeId, hosts: &[PersonId]) -> Result<()> {
    let workspace = tx.workspace().0;
    let people: Vec<i64> = hosts.iter().map(|host| host.0).collect();
    sqlx::query!(
        "delete from booking_type_hosts where workspace_id = $1 and type_id = $2 and person_id <> all($3)",
        workspace,
        id.0,
        &people
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "insert into booking_type_hosts (workspace_id, type_id, person_id)
         select $1, $2, person_id from unnest($3::bigint[]) as host (person_id) on conflict do nothing",
        workspace,
        id.0,
        &people
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The name and state of a type that the setter may change, kept from everybody else until the end.
async fn locked(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    id: BookingTypeId,
) -> Result<(String, BookingTypeState)> {
    let workspace = tx.workspace();
    let row = sqlx::query!(
        r#"select name, state as "state: BookingTypeState",
               array(select person_id from booking_type_hosts where workspace_id = $1 and type_id = $2
                     order by person_id) as "hosts!: Vec<PersonId>"
           from booking_types where workspace_id = $1 and id = $2 and state <> 'removed' for no key update"#,
        workspace.0,
        id.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_TYPE)?;
    setter.must(&row.hosts)?;
    Ok((row.name, row.state))
}

async fn record(
    tx: &mut Tx<'_>,
    setter: Setter<'_>,
    did: Did,
    id: BookingTypeId,
    name: &str,
    data: Value,
) -> Result<()> {
    audit::record(tx, &setter.by(), did, Subject { id: &id, name: &text::without_addresses(name) }, data)
        .await
}
