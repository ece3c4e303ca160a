//! One booking type: its form, which works by its buttons alone, the next times that it offers now, and what to put into a
//! web page that shows it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::respond;
use crate::settings::bookings::PATH;
use crate::settings::bookings::typed::{NOTICES, REMINDERS, TypedBookingType};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::ids::{BookingTypeId, PersonId};
use rookery_core::conversations::inboxes;
use rookery_core::conversations::team;
use rookery_core::workspace::access::MemberId;
use rookery_product::bookings::schedule;
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types::{self, BookingType};

/// Times of the preview.
const SHOWN: usize = 8;

#[derive(Template)]
#[template(path = "settings/bookings/edit.html")]
struct EditPage {
    shell: Shell,
    page: &'static str,
    typed: TypedBookingType,
    problem: Option<String>,
    /// What is stored; nothing for a new one.
    stored: Option<Stored>,
    /// The address below which the booking pages of this workspace are.
    pages: String,
    inboxes: Vec<(String, String)>,
    /// Who may be chosen, by id and name.
    people: Vec<(String, String)>,
}

struct Stored {
    own: BookingType,
    url: String,
    /// The next times, with the names of those who are free then.
    times: Vec<(DateTime<Utc>, String)>,
    /// Whether there are more times than are shown.
    is_more: bool,
}

pub async fn new(asked: MemberRequest) -> Result<Response> {
    let typed = TypedBookingType::blank(asked.person.id);
    respond::page(&page(&asked, None, typed).await?)
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: BookingTypeId = asked.id("id")?;
    let own = find(&asked, id).await?;
    let typed = TypedBookingType::from_settings(&own.settings);
    respond::page(&page(&asked, Some(own), typed).await?)
}

pub async fn make(asked: MemberRequest) -> Result<Response> {
    answer(asked, None).await
}

pub async fn change(asked: MemberRequest) -> Result<Response> {
    let id: BookingTypeId = asked.id("id")?;
    answer(asked, Some(id)).await
}

/// One that the person may change; any other has no page here.
pub async fn find(asked: &MemberRequest, id: BookingTypeId) -> Result<BookingType> {
    let mut reading = asked.reading().await?;
    let own = types::find(&mut reading, &asked.person, id).await?;
    if Setter::Person(&asked.person).may(&own.settings.hosts) { Ok(own) } else { Err(NO_ENDPOINT) }
}

async fn answer(asked: MemberRequest, id: Option<BookingTypeId>) -> Result<Response> {
    let form = asked.form().await?;
    let mut typed = TypedBookingType::read(&form);
    if typed.hosts.is_empty() && !asked.person.role.administers() {
        typed.hosts = vec![asked.person.id.to_string()];
    }
    match save(&asked, id, &typed).await {
        Ok(id) => {
            Ok(respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(Done::BookingTypeSaved, "")))
        }
        Err(error @ Error::Problems(_)) => {
            let own = match id {
                Some(id) => Some(find(&asked, id).await?),
                None => None,
            };
            let page = EditPage { problem: Some(error.sentence()), ..page(&asked, own, typed).await? };
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

async fn save(
    asked: &MemberRequest,
    id: Option<BookingTypeId>,
    typed: &TypedBookingType,
) -> Result<BookingTypeId> {
    let settings = typed.settings()?;
    let (mut tx, setter) = (asked.tx().await?, Setter::Person(&asked.person));
    let id = match id {
        Some(id) => {
            types::change(&mut tx, setter, id, settings).await?;
            id
        }
        None => types::create(&mut tx, setter, settings).await?,
    };
    tx.commit().await?;
    Ok(id)
}

async fn page(asked: &MemberRequest, own: Option<BookingType>, typed: TypedBookingType) -> Result<EditPage> {
    let public_url = asked.visit.app().config.public_url.clone();
    let mut reading = asked.reading().await?;
    let person = &asked.person;
    let shell = Shell::frame(asked, Here::Settings);
    let inboxes = inboxes::list(&mut reading, person, shell.times.now).await?;
    let mut inboxes: Vec<(String, String)> = inboxes
        .into_iter()
        .map(|one| (one.id.to_string(), format!("{} <{}>", one.name, one.address)))
        .collect();
    // A private inbox of the host's is not listed for others, and stays when they change something else.
    if !typed.mailbox.is_empty() && own.is_some() && !inboxes.iter().any(|(id, _)| *id == typed.mailbox) {
        inboxes.insert(0, (typed.mailbox.clone(), "The host’s own inbox".to_owned()));
    }
    let people = if person.role.administers() {
        team::everybody(&mut reading, person.workspace)
            .await?
            .into_iter()
            .filter_map(|member| match member.id {
                MemberId::Person(id) => Some((id.to_string(), member.name)),
                MemberId::Agent(_) => None,
            })
            .collect()
    } else {
        Vec::new()
    };
    let slug = types::workspace_slug(&mut reading, person.workspace).await?;
    let pages = public_url.join(&types::path(&slug, "")).map_err(Error::internal)?.to_string();
    let stored = match own {
        Some(own) => Some(stored(&mut reading, asked, own).await?),
        None => None,
    };
    Ok(EditPage { shell, page: PATH, typed, problem: None, stored, pages, inboxes, people })
}

async fn stored(conn: &mut PgConnection, asked: &MemberRequest, own: BookingType) -> Result<Stored> {
    let now = asked.times().now;
    let url = page_url(conn, asked, &own).await?;
    let Some(bookable) = schedule::of_type(conn, asked.person.workspace, own.id).await? else {
        return Err(NO_ENDPOINT);
    };
    let free = schedule::free(conn, &bookable, now, SHOWN + 1).await?;
    let names = |hosts: &[PersonId]| {
        let named = own.settings.hosts.iter().zip(&own.host_names);
        let free = named.filter(|(host, _)| hosts.contains(host)).map(|(_, name)| name.as_str());
        free.collect::<Vec<_>>().join(", ")
    };
    let times = free.iter().take(SHOWN).map(|time| (time.starts_at, names(&time.hosts))).collect();
    Ok(Stored { times, is_more: free.len() > SHOWN, url, own })
}

/// The public page of a type.
pub async fn page_url(conn: &mut PgConnection, asked: &MemberRequest, own: &BookingType) -> Result<String> {
    let slug = types::workspace_slug(conn, asked.person.workspace).await?;
    let path = types::path(&slug, &own.settings.slug);
    Ok(asked.visit.app().config.public_url.join(&path).map_err(Error::internal)?.to_string())
}

impl EditPage {
    fn action(&self) -> String {
        match &self.stored {
            Some(stored) => format!("{PATH}/{}", stored.own.id),
            None => format!("{PATH}/new"),
        }
    }

    fn notices(&self) -> Vec<(String, String)> {
        offered(NOTICES, &self.typed.notice)
    }

    fn reminders(&self) -> Vec<(String, String)> {
        offered(REMINDERS, &self.typed.remind)
    }

    fn is_host(&self, id: &str) -> bool {
        self.typed.hosts.iter().any(|host| host == id)
    }
}

impl Stored {
    /// What stands in somebody's page.
    fn snippet(&self) -> String {
        let name: String =
            self.own.settings.name.chars().filter(|letter| !"<>&\"".contains(*letter)).collect();
        format!(
            r#"<iframe src="{}" title="{name}" style="width:100%;height:760px;border:0"></iframe>"#,
            self.url
        )
    }
}

/// The choices of a list, and the one that is stored, whatever it is.
fn offered(choices: &[(&str, &str)], chosen: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        choices.iter().map(|(value, name)| ((*value).to_owned(), (*name).to_owned())).collect();
    if !all.iter().any(|(value, _)| value == chosen) {
        all.push((chosen.to_owned(), format!("{chosen} minutes before")));
    }
    all
}
