//! `/profile`: a person's own page: name, zone, dates, theme, keys, signature; out of office, the password, passkeys and the
//! sessions stand on it too, with forms of their own.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};

use crate::outgoing::clock::undo_time;
use crate::settings::away::{self, AwayForm};
use crate::settings::device;
use crate::settings::period::{self, PeriodFields};
use crate::settings::signature;
use crate::shell::{Here, Shell};
use crate::show::{Times, filters};
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::ids::SessionId;
use rookery_core::workspace::passkeys::{self, ListedPasskey, can_be_used};
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::people;
use rookery_core::workspace::preferences::{self, DateStyle, Dates, Profile, UNDO_SECONDS};
use rookery_core::workspace::second_factor;
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_core::workspace::signatures::SignatureWords;
use rookery_core::workspace::single_sign_on;
use rookery_product::replies::automatic;

pub const PATH: &str = "/profile";

/// A day on which every order of a date is told from the others.
const SAMPLE: &str = "2026-11-16T16:30:00Z";

const THEMES: [(&str, &str); 3] = [("auto", "As the device"), ("light", "Light"), ("dark", "Dark")];

#[derive(Template)]
#[template(path = "settings/profile.html")]
struct ProfilePage {
    shell: Shell,
    page: &'static str,
    email: String,
    role: &'static str,
    name: String,
    zone: String,
    zones: Vec<String>,
    theme: String,
    themes: [(&'static str, &'static str); 3],
    keys: bool,
    dates: String,
    /// An example of each style of dates.
    date_styles: Vec<(&'static str, String)>,
    twelve_hours: bool,
    undo_seconds: i32,
    undo_choices: Vec<(i32, String)>,
    signature: SignatureWords,
    problem: Option<String>,
    away: AwayForm,
    /// The workspace takes single sign-on only: a password or a passkey would open nothing.
    sso_only: bool,
    has_password: bool,
    /// Whether they may set a password. Setting the first one needs a session that has just begun.
    may_set_password: bool,
    /// Whether the old password is asked for.
    asks_current: bool,
    password_problem: Option<String>,
    has_second_factor: bool,
    /// Whether this service can have passkeys.
    can_have_passkeys: bool,
    passkeys: Vec<ListedPasskey>,
    passkey_problem: Option<String>,
    /// Whether one can be added now.
    is_fresh: bool,
    /// Where to confirm who they are.
    again: String,
    /// What a new one is called, unless somebody says otherwise.
    this_device: String,
    sessions: Vec<OneSession>,
}

struct OneSession {
    id: SessionId,
    device: String,
    with: &'static str,
    began_at: DateTime<Utc>,
    seen_at: DateTime<Utc>,
    here: bool,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked).await?)
}

pub async fn save(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let field = |name| form.get(name).unwrap_or_default();
    let profile = Profile {
        name: field("name"),
        zone: field("zone"),
        theme: field("theme"),
        keys: form.flag("keys"),
        signature: signature::typed(&form),
        // A page that was open before this was chosen says nothing of it.
        dates: form.get("dates").unwrap_or(asked.session.dates.style.as_str()),
        twelve_hours: form.get("hours").map_or(asked.session.dates.twelve_hours, |hours| hours == "12"),
        undo_seconds: form.parse("undo")?.unwrap_or(asked.session.undo_seconds),
    };
    let mut tx = asked.tx().await?;
    match preferences::change(&mut tx, asked.person.id, &profile).await {
        Ok(()) => {
            tx.commit().await?;
            Ok(respond::see_other_with(PATH, Toast::new(Done::Saved, "")))
        }
        Err(error @ Error::Problems(_)) => {
            drop(tx);
            let page = as_typed(page(&asked).await?, &form, error.sentence());
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

/// Out of office: the dates and the text, or `do=end`.
pub async fn save_away(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let ends = form.get("do") == Some("end");
    match change_away(&asked, &form, ends).await {
        Ok(()) => {
            let done = if ends { Done::OutOfOfficeEnded } else { Done::Saved };
            Ok(respond::see_other_with(&format!("{PATH}#away"), Toast::new(done, "")))
        }
        Err(error @ Error::Problems(_)) => {
            let mut page = page(&asked).await?;
            page.away = page.away.typed(&form, period::sentence(&error));
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

async fn change_away(asked: &MemberRequest, form: &Form, ends: bool) -> Result<()> {
    let period = PeriodFields::typed(form);
    let mut tx = asked.tx().await?;
    if ends {
        people::away::end(&mut tx, &asked.person).await?;
        automatic::away::forget_of(&mut tx, asked.person.id).await?;
    } else {
        let period = period.read(&asked.times())?;
        people::away::set(&mut tx, &asked.person, period, form.get("text").unwrap_or_default()).await?;
    }
    tx.commit().await
}

/// The page with what is wrong with a new password.
pub async fn with_password_problem(asked: &MemberRequest, error: &Error) -> Result<Response> {
    let mut page = page(asked).await?;
    page.password_problem = Some(error.sentence());
    let mut response = respond::page_with(respond::status_of(error), &page)?;
    respond::retry_after(&mut response, error);
    Ok(response)
}

/// The page with what is wrong with a passkey.
pub async fn with_passkey_problem(asked: &MemberRequest, error: &Error) -> Result<Response> {
    let mut page = page(asked).await?;
    page.passkey_problem = Some(match error {
        Error::Problems(problems) => {
            format!(
                "{}.",
                problems.iter().map(|problem| problem.what.as_str()).collect::<Vec<_>>().join(". ")
            )
        }
        other => other.sentence(),
    });
    respond::page_with(respond::status_of(error), &page)
}

/// Nothing that was typed is lost.
fn as_typed(mut page: ProfilePage, form: &Form, problem: String) -> ProfilePage {
    let field = |name| form.get(name).unwrap_or_default().to_owned();
    page.name = field("name");
    page.theme = field("theme");
    page.keys = form.flag("keys");
    let signature = signature::typed(form);
    page.signature = SignatureWords {
        text: signature.text.to_owned(),
        html: signature.html.unwrap_or_default().to_owned(),
    };
    page.dates = field("dates");
    page.twelve_hours = form.get("hours") == Some("12");
    page.undo_seconds = form.parse("undo").ok().flatten().unwrap_or(page.undo_seconds);
    page.problem = Some(problem);
    page
}

async fn page(asked: &MemberRequest) -> Result<ProfilePage> {
    let (workspace, person) = (asked.person.workspace, asked.person.id);
    let who = Recognized { workspace, person };
    let now = asked.app().clock.now();
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let chosen = preferences::load(&mut reading, workspace, person).await?;
    let has_password = passwords::has_one(&mut reading, who).await?;
    let listed = sessions::list(&mut reading, workspace, person, now).await?;
    Ok(ProfilePage {
        page: PATH,
        email: people::email_of(&mut reading, workspace, person).await?,
        role: asked.person.role.title(),
        name: asked.person.name.clone(),
        zones: zones(&chosen.zone),
        zone: chosen.zone,
        theme: chosen.theme.as_str().into(),
        themes: THEMES,
        keys: chosen.keys,
        dates: chosen.date_style.as_str().into(),
        date_styles: date_styles(&shell.times),
        twelve_hours: chosen.twelve_hours,
        undo_seconds: chosen.undo_seconds,
        undo_choices: UNDO_SECONDS.map(|seconds| (seconds, undo_choice(seconds))).to_vec(),
        signature: chosen.signature,
        problem: None,
        away: away::load(&mut reading, asked, &shell.times).await?,
        sso_only: single_sign_on::is_required(&mut reading, workspace).await?,
        has_password,
        may_set_password: has_password || asked.session.is_fresh(now),
        asks_current: has_password && !asked.session.is_fresh_from_mail(now),
        password_problem: None,
        has_second_factor: second_factor::standing(&mut reading, workspace, person).await?.since.is_some(),
        can_have_passkeys: can_be_used(&asked.visit.app().config),
        passkeys: passkeys::list(&mut reading, workspace, person).await?,
        passkey_problem: None,
        is_fresh: asked.session.is_fresh(now),
        again: session::again(PATH),
        this_device: device::named(asked.header("user-agent").unwrap_or_default()),
        sessions: listed
            .into_iter()
            .map(|listed| OneSession {
                id: listed.id,
                device: device::named(&listed.browser),
                with: match listed.with {
                    SignedInWith::Link => "Link by mail",
                    SignedInWith::Password => "Password",
                    SignedInWith::Sso => "Single sign-on",
                    SignedInWith::Passkey => "Passkey",
                },
                began_at: listed.began_at,
                seen_at: listed.seen_at,
                here: listed.id == asked.session.id,
            })
            .collect(),
        shell,
    })
}

fn undo_choice(seconds: i32) -> String {
    undo_time(TimeDelta::seconds(i64::from(seconds))).unwrap_or_else(|| "At once".to_owned())
}

fn date_styles(times: &Times) -> Vec<(&'static str, String)> {
    let sample: DateTime<Utc> = SAMPLE.parse().unwrap_or_default();
    let written = |style| {
        let dates = Dates { style, twelve_hours: false };
        Times { dates, ..times.clone() }.date(&sample)
    };
    DateStyle::ALL.into_iter().map(|style| (style.as_str(), written(style))).collect()
}

/// Zones by the name of a place, and the one that is chosen, whatever it is called.
pub fn zones(chosen: &str) -> Vec<String> {
    const PLACES: [&str; 10] = [
        "Africa/",
        "America/",
        "Antarctica/",
        "Arctic/",
        "Asia/",
        "Atlantic/",
        "Australia/",
        "Europe/",
        "Indian/",
        "Pacific/",
    ];
    let mut zones: Vec<String> = jiff::tz::db()
        .available()
        .map(|name| name.to_string())
        .filter(|name| PLACES.iter().any(|place| name.starts_with(place)))
        .chain(["UTC".to_owned(), chosen.to_owned()])
        .collect();
    zones.sort();
    zones.dedup();
    zones
}
