//! `/settings/bookings/hours`: when somebody can be booked, by weekday, on days that are otherwise, and their other calendars.
//! Hours are texts such as `09:00-12:00, 13:00-17:00`; a browser's own field for times goes by the language of the device.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::NaiveDate;

use crate::respond;
use crate::settings::bookings::PATH;
use crate::settings::profile::zones;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::ids::PersonId;
use rookery_core::conversations::team;
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::inbox_settings::hours::{DAYS, HoursSpan};
use rookery_product::bookings::busy::{self, CalendarSource};
use rookery_product::bookings::hosts::{self, Host, Week};
use rookery_product::bookings::setter::Setter;

#[derive(Template)]
#[template(path = "settings/bookings/hours.html")]
struct HoursPage {
    shell: Shell,
    page: &'static str,
    host: Host,
    /// It is the reader's own.
    is_own: bool,
    zones: Vec<String>,
    /// By weekday: its name and its hours as they were typed.
    week: Vec<(usize, &'static str, String)>,
    /// Coming days with special hours: the date, the date as people read it, and the hours.
    days: Vec<(NaiveDate, String, String)>,
    problem: Option<String>,
    day: TypedDay,
    calendars: Vec<CalendarSource>,
    calendar: Calendar,
    /// Whose hours an owner or admin can look at, by id and name.
    others: Vec<(PersonId, String)>,
}

/// A day with special hours, as it was typed.
#[derive(Default)]
pub struct TypedDay {
    date: String,
    hours: String,
    problem: Option<String>,
}

/// A calendar that is to be connected, as it was typed. The address is a secret: it is not shown again.
#[derive(Default)]
pub struct Calendar {
    pub is_caldav: bool,
    pub name: String,
    pub problem: Option<String>,
}

/// The form that was refused, with what was typed and why.
#[derive(Default)]
pub struct Wrong {
    pub week: Option<(FormFields, String)>,
    pub day: TypedDay,
    pub calendar: Calendar,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let person = whose(&asked)?;
    page(&asked, person, StatusCode::OK, Wrong::default()).await
}

/// The person that the path names, or the reader.
fn whose(asked: &MemberRequest) -> Result<PersonId> {
    let person = match asked.param("person") {
        Some(_) => asked.id("person")?,
        None => asked.person.id,
    };
    if Setter::Person(&asked.person).may(&[person]) { Ok(person) } else { Err(NO_ENDPOINT) }
}

pub async fn page(
    asked: &MemberRequest,
    person: PersonId,
    status: StatusCode,
    wrong: Wrong,
) -> Result<Response> {
    let keys = asked.visit.app().config.secret_key.clone();
    let mut reading = asked.reading().await?;
    let mut host = hosts::find(&mut reading, asked.person.workspace, person).await?;
    let is_own = person == asked.person.id;
    let calendars = match (&keys, is_own) {
        (Some(keys), true) => busy::list(&mut reading, keys, &asked.person).await?,
        _ => Vec::new(),
    };
    let others = if asked.person.role.administers() {
        team::everybody(&mut reading, asked.person.workspace)
            .await?
            .into_iter()
            .filter_map(|member| match member.id {
                MemberId::Person(id) => Some((id, member.name)),
                MemberId::Agent(_) => None,
            })
            .collect()
    } else {
        Vec::new()
    };
    let shell = Shell::frame(asked, Here::Settings);
    let mut week: Vec<(usize, &'static str, String)> =
        (0..7).map(|n| (n, DAYS[n], written(&host.week.0[n]))).collect();
    let mut problem = None;
    if let Some((form, what)) = wrong.week {
        let text = |name: &str| form.get(name).unwrap_or_default().to_owned();
        for (n, _, hours) in &mut week {
            *hours = text(&format!("hours-{n}"));
        }
        host.time_zone = text("zone");
        problem = Some(what);
    }
    let today = shell.times.now.date_naive();
    let days = host.days.iter().filter(|(day, _)| *day >= today);
    let days = days.map(|(day, spans)| (*day, shell.times.day(*day), written(spans))).collect();
    let page = HoursPage {
        zones: zones(&host.time_zone),
        shell,
        page: PATH,
        host,
        is_own,
        week,
        days,
        problem,
        day: wrong.day,
        calendars,
        calendar: wrong.calendar,
        others,
    };
    respond::page_with(status, &page)
}

pub async fn save(asked: MemberRequest) -> Result<Response> {
    let person = whose(&asked)?;
    let form = asked.form().await?;
    match save_week(&asked, person, &form).await {
        Ok(()) => Ok(respond::see_other_with(&path_of(&asked, person), Toast::new(Done::Saved, ""))),
        Err(error @ Error::Problems(_)) => {
            let fields = FormFields::from_pairs(form.pairs().to_vec());
            let wrong = Wrong { week: Some((fields, error.sentence())), ..Wrong::default() };
            page(&asked, person, StatusCode::BAD_REQUEST, wrong).await
        }
        Err(error) => Err(error),
    }
}

async fn save_week(asked: &MemberRequest, person: PersonId, form: &FormFields) -> Result<()> {
    let mut week = Week::default();
    for (n, day) in week.0.iter_mut().enumerate() {
        *day = read(DAYS[n], form.get(&format!("hours-{n}")).unwrap_or_default())?;
    }
    let mut tx = asked.tx().await?;
    hosts::set_week(&mut tx, Setter::Person(&asked.person), person, form.text("zone")?, week).await?;
    tx.commit().await
}

/// Sets special hours for a day, or removes them.
pub async fn set_day(asked: MemberRequest) -> Result<Response> {
    let person = whose(&asked)?;
    let form = asked.form().await?;
    match save_day(&asked, person, &form).await {
        Ok(()) => {
            let here = format!("{}#days", path_of(&asked, person));
            Ok(respond::see_other_with(&here, Toast::new(Done::Saved, "")))
        }
        Err(error @ Error::Problems(_)) => {
            let text = |name: &str| form.get(name).unwrap_or_default().to_owned();
            let day = TypedDay { date: text("day"), hours: text("hours"), problem: Some(error.sentence()) };
            page(&asked, person, StatusCode::BAD_REQUEST, Wrong { day, ..Wrong::default() }).await
        }
        Err(error) => Err(error),
    }
}

async fn save_day(asked: &MemberRequest, person: PersonId, form: &FormFields) -> Result<()> {
    let day: NaiveDate =
        form.text("day")?.parse().map_err(|_| Error::problem("Day", "must be a day such as 2031-05-09"))?;
    let spans =
        if form.flag("usual") { None } else { Some(read("Hours", form.get("hours").unwrap_or_default())?) };
    let mut tx = asked.tx().await?;
    hosts::set_day(&mut tx, Setter::Person(&asked.person), person, day, spans).await?;
    tx.commit().await
}

fn path_of(asked: &MemberRequest, person: PersonId) -> String {
    if person == asked.person.id { format!("{PATH}/hours") } else { format!("{PATH}/hours/{person}") }
}

/// `09:00-12:00, 13:00-17:00`; nothing is closed.
fn read(day: &str, text: &str) -> Result<Vec<HoursSpan>> {
    let mut spans = Vec::new();
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let (from, to) = part
            .split_once(['-', '–', '—'])
            .ok_or_else(|| Error::problem(day, "must be hours such as 09:00-12:00, 13:00-17:00"))?;
        spans.push(HoursSpan::read(day, from.trim(), to.trim())?);
    }
    Ok(spans)
}

fn written(spans: &[HoursSpan]) -> String {
    let each = spans.iter().map(|span| format!("{}-{}", span.from(), span.to()));
    each.collect::<Vec<_>>().join(", ")
}

impl HoursPage {
    fn action(&self) -> String {
        if self.is_own { format!("{PATH}/hours") } else { format!("{PATH}/hours/{}", self.host.person) }
    }

    fn is_shown(&self, id: &PersonId) -> bool {
        self.host.person == *id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_as_people_write_them() {
        let told = |text| read("Monday", text).map(|spans| written(&spans)).map_err(|error| error.sentence());
        assert_eq!(told("9:00 - 12, 13:00–17:30"), Ok("09:00-12:00, 13:00-17:30".to_owned()));
        assert_eq!(told(" "), Ok(String::new()));
        for wrong in ["9 to 5", "9:00", "17:00-9:00", "9-25"] {
            assert!(told(wrong).unwrap_err().starts_with("Monday: "), "{wrong}");
        }
    }
}
