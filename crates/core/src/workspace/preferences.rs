//! What a person chose for themselves: the zone their times are written in and how, light or dark, single keys, a signature.
//! They stand in the person's row, because every page asks for them.

use chrono::TimeDelta;
use jiff::tz::TimeZone;
use sqlx::PgConnection;

use crate::workspace::people::{another_mailed_name, name_of};
use crate::workspace::signatures::pictures::SignatureOwner;
use crate::workspace::signatures::{self, SignatureWords, TypedSignature};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::text;

const LONGEST_SIGNATURE: usize = 2000;

/// Seconds that a person can have for taking back a mail of their own.
pub const UNDO_SECONDS: [i32; 6] = [0, 10, 20, 30, 60, 600];

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Theme {
        /// As the device has it.
        #[default]
        Auto = "auto",
        Light = "light",
        Dark = "dark",
    }
}

rookery_base::text_enum! {
    /// How days are written. The app speaks English; the order of a date is a matter of where somebody lives.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "snake_case")]
    pub enum DateStyle {
        /// 16 Nov 2026
        #[default]
        DayMonth = "day_month",
        /// Nov 16, 2026
        MonthDay = "month_day",
        /// 16.11.2026
        Dots = "dots",
        /// 2026-11-16
        Iso = "iso",
    }
}

/// How dates and times are written for somebody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dates {
    pub style: DateStyle,
    /// 4:30 PM rather than 16:30.
    pub twelve_hours: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// An IANA name; the workspace's when the person has chosen none.
    pub zone: String,
    pub theme: Theme,
    /// Whether single keys do something.
    pub keys: bool,
    /// Under the mails this person writes; may be empty.
    pub signature: SignatureWords,
    pub date_style: DateStyle,
    pub twelve_hours: bool,
    /// How long they can take back a mail of their own: one of [`UNDO_SECONDS`].
    pub undo_seconds: i32,
}

pub async fn load(conn: &mut PgConnection, workspace: WorkspaceId, person: PersonId) -> Result<Preferences> {
    let row = sqlx::query!(
        r#"select coalesce(zone, time_zone) as "zone!", theme as "theme: Theme", single_keys as keys, signature, signature_html,
               date_style as "date_style: DateStyle", twelve_hours, undo_seconds
           from people join workspaces on workspaces.id = workspace_id
           where workspace_id = $1 and people.id = $2"#,
        workspace.0,
        person.0
    )
    .fetch_one(conn)
    .await?;
    Ok(Preferences {
        zone: row.zone,
        theme: row.theme,
        keys: row.keys,
        signature: SignatureWords::holding(row.signature, row.signature_html),
        date_style: row.date_style,
        twelve_hours: row.twelve_hours,
        undo_seconds: row.undo_seconds,
    })
}

/// What a person can say of themselves.
pub struct Profile<'a> {
    pub name: &'a str,
    pub zone: &'a str,
    pub theme: &'a str,
    pub keys: bool,
    pub signature: TypedSignature<'a>,
    pub dates: &'a str,
    pub twelve_hours: bool,
    pub undo_seconds: i32,
}

pub async fn change(tx: &mut Tx<'_>, person: PersonId, profile: &Profile<'_>) -> Result<()> {
    let name = another_mailed_name("name", profile.name, 100, &name_of(tx, person).await?)?;
    let zone = a_zone("zone", profile.zone)?;
    let theme =
        Theme::named(profile.theme).ok_or_else(|| Error::problem("theme", "must be auto, light or dark"))?;
    let dates = DateStyle::named(profile.dates)
        .ok_or_else(|| Error::problem("dates", "must be one of those that are offered"))?;
    if !UNDO_SECONDS.contains(&profile.undo_seconds) {
        return Err(Error::problem("undo", "must be one of those that are offered"));
    }
    let plain = text::lines(profile.signature.text).trim_end().to_owned();
    let owner = SignatureOwner::Person(person);
    let signature = signatures::settle(tx, owner, plain, profile.signature.html, LONGEST_SIGNATURE).await?;
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update people set name = $3, zone = $4, theme = $5, single_keys = $6, signature = $7,
             signature_html = nullif($8, ''), date_style = $9, twelve_hours = $10, undo_seconds = $11
         where workspace_id = $1 and id = $2",
        workspace,
        person.0,
        name,
        zone,
        theme as Theme,
        profile.keys,
        signature.text,
        signature.html,
        dates as DateStyle,
        profile.twelve_hours,
        profile.undo_seconds
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// How long a person can take back a mail of their own; never longer than what anybody sends.
pub async fn undo_window(tx: &mut Tx<'_>, person: PersonId, longest: TimeDelta) -> Result<TimeDelta> {
    let workspace = tx.workspace().0;
    let seconds = sqlx::query_scalar!(
        "select undo_seconds from people where workspace_id = $1 and id = $2",
        workspace,
        person.0
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(TimeDelta::seconds(i64::from(seconds)).min(longest))
}

/// The name of a time zone as it is stored.
pub fn a_zone(field: &str, name: &str) -> Result<String> {
    let zone = TimeZone::get(name).ok().and_then(|zone| zone.iana_name().map(str::to_owned));
    zone.ok_or_else(|| Error::problem(field, "must be the name of a time zone"))
}
