//! `/profile`: a person's own page: name, zone, theme, keys, signature; the password and the sessions stand on it
//! too, with forms of their own.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::ids::SessionId;
use crate::web::respond;
use crate::web::settings::device;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::{Asked, Form};
use crate::workspace::passwords::{self, Recognized};
use crate::workspace::people;
use crate::workspace::preferences::{self, Profile};
use crate::workspace::second_factor;
use crate::workspace::sessions::{self, SignedInWith};

pub const PATH: &str = "/profile";

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
    signature: String,
    problem: Option<String>,
    has_password: bool,
    /// The first one takes a session that is new.
    may_set_password: bool,
    /// Whether the old password is asked for.
    asks_current: bool,
    password_problem: Option<String>,
    has_second_factor: bool,
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

pub async fn show(asked: Asked) -> Result<Response> {
    respond::page(&page(&asked).await?)
}

pub async fn save(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let field = |name| form.get(name).unwrap_or_default();
    let profile = Profile {
        name: field("name"),
        zone: field("zone"),
        theme: field("theme"),
        keys: form.flag("keys"),
        signature: field("signature"),
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

/// The page with what is wrong with a new password.
pub async fn with_password_problem(asked: &Asked, error: &Error) -> Result<Response> {
    let mut page = page(asked).await?;
    page.password_problem = Some(error.sentence());
    let mut response = respond::page_with(respond::status_of(error), &page)?;
    respond::retry_after(&mut response, error);
    Ok(response)
}

/// Nothing that was typed is lost.
fn as_typed(mut page: ProfilePage, form: &Form, problem: String) -> ProfilePage {
    let field = |name| form.get(name).unwrap_or_default().to_owned();
    page.name = field("name");
    page.theme = field("theme");
    page.keys = form.flag("keys");
    page.signature = field("signature");
    page.problem = Some(problem);
    page
}

async fn page(asked: &Asked) -> Result<ProfilePage> {
    let (workspace, person) = (asked.person.workspace, asked.person.id);
    let who = Recognized { workspace, person };
    let now = asked.app().clock.now();
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let chosen = preferences::of(&mut reading, workspace, person).await?;
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
        signature: chosen.signature,
        problem: None,
        has_password,
        may_set_password: has_password || asked.session.is_fresh(now),
        asks_current: has_password && !asked.session.is_fresh_from_mail(now),
        password_problem: None,
        has_second_factor: second_factor::standing(&mut reading, workspace, person).await?.since.is_some(),
        sessions: listed
            .into_iter()
            .map(|listed| OneSession {
                id: listed.id,
                device: device::named(&listed.browser),
                with: match listed.with {
                    SignedInWith::Link => "Link by mail",
                    SignedInWith::Password => "Password",
                },
                began_at: listed.began_at,
                seen_at: listed.seen_at,
                here: listed.id == asked.session.id,
            })
            .collect(),
        shell,
    })
}

/// Zones by the name of a place, and the one that is chosen, whatever it is called.
fn zones(chosen: &str) -> Vec<String> {
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
