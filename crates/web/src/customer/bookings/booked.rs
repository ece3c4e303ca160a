//! What was booked, as the visitor sees it: right after booking under the address of the type, which a frame may show; later
//! by the private link of the mail, which no frame shows. The same link gives the event as a file for any calendar.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sqlx::PgConnection;

use crate::customer::answers;
use crate::customer::bookings::page::{
    Carried, Top, When, admit, astray, chosen, find, in_frame, masked, query, when,
};
use crate::customer::bookings::words::BookingWord;
use crate::customer::language::for_visit;
use crate::customer::words::Word;
use crate::respond;
use crate::show::filters;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, WorkspaceId};
use rookery_base::languages::{Language, Phrase};
use rookery_base::zone::Zone;
use rookery_product::bookings::cancel::can_take_back;
use rookery_product::bookings::invitation::{Invitation, Method, uid};
use rookery_product::bookings::link;
use rookery_product::bookings::read::{BookingRow, BookingState};
use rookery_product::bookings::schedule::{self, Bookable};

#[derive(Template)]
#[template(path = "customer/bookings/booked.html")]
struct BookedPage {
    top: Top,
    title: String,
    when: When,
    host: String,
    place: String,
    lead: Option<String>,
    state: BookedState,
    /// The private address of this booking.
    private: String,
    carried: String,
    again: String,
    notice: Option<&'static str>,
    /// Whether it is shown in a frame on another site; then links open outside the frame.
    is_framed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BookedState {
    Booked,
    Over,
    /// Just cancelled; that can still be taken back.
    LetGo,
    Cancelled,
}

impl BookedPage {
    fn say(&self, word: impl Phrase) -> &'static str {
        self.top.language.say(word)
    }

    fn heading(&self) -> &'static str {
        self.say(match self.state {
            BookedState::Booked | BookedState::Over => BookingWord::Booked,
            BookedState::LetGo | BookedState::Cancelled => BookingWord::Cancelled,
        })
    }

    fn is(&self, state: &str) -> bool {
        match self.state {
            BookedState::Booked => state == "booked",
            BookedState::Over => state == "over",
            BookedState::LetGo => state == "let-go",
            BookedState::Cancelled => state == "cancelled",
        }
    }
}

/// A booking that a private link leads to, and its type.
pub struct Managed {
    pub language: Language,
    pub workspace: WorkspaceId,
    pub booking: BookingRow,
    pub bookable: Bookable,
    pub zone: Zone,
    pub carried: Carried,
    token: String,
}

impl Managed {
    /// The private page.
    pub fn path(&self) -> String {
        format!("/booking/{}/{}/{}", self.workspace, self.booking.series, self.token)
    }

    pub fn here(&self, below: &str, more: &[(&str, &str)]) -> String {
        format!("{}{below}{}", self.path(), query(&self.carried, more))
    }

    pub fn top(&self, below: &str) -> Top {
        let path = format!("{}{below}", self.path());
        Top::new(&self.bookable.workspace_name, self.language, &path, &self.carried)
    }

    pub fn when(&self, visit: &Visit) -> When {
        let (from, to) = (self.booking.starts_at, self.booking.ends_at);
        when(self.language, &self.zone, from, to, visit.app().clock.now())
    }

    /// Neither cancelled nor begun.
    pub fn is_ahead(&self, visit: &Visit) -> bool {
        self.booking.state == BookingState::Booked && self.booking.starts_at > visit.app().clock.now()
    }
}

/// What the private link of a visit leads to.
pub async fn managed(visit: &Visit, conn: &mut PgConnection, language: Language) -> Result<Option<Managed>> {
    let Ok(workspace) = visit.id::<WorkspaceId>("workspace") else { return Ok(None) };
    of_workspace(visit, conn, language, workspace).await
}

async fn of_workspace(
    visit: &Visit,
    conn: &mut PgConnection,
    language: Language,
    workspace: WorkspaceId,
) -> Result<Option<Managed>> {
    let Ok(series) = visit.id::<BookingId>("booking") else { return Ok(None) };
    let token = visit.param("token").unwrap_or_default();
    let keys = visit.app().config.needs_secret_key()?;
    let Some(booking) = link::managed(conn, keys, workspace, series, token).await? else { return Ok(None) };
    let Some(bookable) = schedule::of_type(conn, workspace, booking.type_id).await? else { return Ok(None) };
    let (zone, carried) = chosen(visit, language);
    let own = booking.time_zone.as_deref().unwrap_or(&booking.host_zone);
    let zone = zone.unwrap_or_else(|| Zone::named(own));
    Ok(Some(Managed { language, workspace, booking, bookable, zone, carried, token: token.to_owned() }))
}

/// `GET /book/{workspace}/{type}/{booking}/{token}`
pub async fn show_in_frame(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let found = async {
        admit(&visit)?;
        let Some(place) = find(&visit, language).await? else { return Ok(None) };
        let workspace = place.bookable.workspace;
        let mut conn = visit.app().connection_of(workspace).await?;
        let managed = of_workspace(&visit, &mut conn, language, workspace).await?;
        Ok(managed.filter(|managed| managed.bookable.id == place.bookable.id))
    };
    Ok(match found.await {
        Ok(Some(managed)) => {
            in_frame(language, page(&visit, &managed, None, true, StatusCode::OK), Some(&managed.bookable))
        }
        Ok(None) => in_frame(language, astray(&visit, language), None),
        Err(error) => in_frame(language, Err(error), None),
    })
}

/// `GET /booking/{workspace}/{booking}/{token}`
pub async fn show(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let answer = async {
        admit(&visit)?;
        let managed = managed(&visit, &mut *visit.customers_connection().await?, language).await?;
        let Some(managed) = managed else { return astray(&visit, language) };
        page(&visit, &managed, None, false, StatusCode::OK)
    };
    Ok(answers::answered(language, answer.await))
}

pub fn page(
    visit: &Visit,
    managed: &Managed,
    notice: Option<BookingWord>,
    is_framed: bool,
    status: StatusCode,
) -> Result<Response> {
    let (language, booking, now) = (managed.language, &managed.booking, visit.app().clock.now());
    let state = match booking.state {
        BookingState::Booked if booking.starts_at > now => BookedState::Booked,
        BookingState::Booked => BookedState::Over,
        _ if can_take_back(booking, now) && booking.starts_at > now => BookedState::LetGo,
        _ => BookedState::Cancelled,
    };
    let address = booking.email.as_deref().map(masked);
    let lead = match state {
        BookedState::Booked => {
            address.map(|address| language.fill(BookingWord::InvitationSent, &[("address", &address)]))
        }
        BookedState::Over => Some(language.say(BookingWord::IsOver).to_owned()),
        BookedState::LetGo => Some(language.say(BookingWord::TenMinutes).to_owned()),
        BookedState::Cancelled => None,
    };
    let bookable = &managed.bookable;
    let page = BookedPage {
        top: if is_framed {
            let path = visit.parts.uri.path();
            Top::new(&bookable.workspace_name, language, path, &managed.carried)
        } else {
            managed.top("")
        },
        title: bookable.name.clone(),
        when: managed.when(visit),
        host: booking.host_name.clone(),
        place: bookable.place.clone(),
        lead,
        state,
        private: managed.path(),
        carried: query(&managed.carried, &[]),
        again: format!("/book/{}/{}{}", bookable.workspace_slug, bookable.slug, query(&managed.carried, &[])),
        notice: notice.map(|word| language.say(word)),
        is_framed,
    };
    respond::page_with(status, &page)
}

/// `GET /booking/{workspace}/{booking}/{token}/calendar`: the event as a file.
pub async fn calendar(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let answer = async {
        admit(&visit)?;
        let managed = managed(&visit, &mut *visit.customers_connection().await?, language).await?;
        let Some(managed) = managed else { return astray(&visit, language) };
        Ok(file(&visit, &managed))
    };
    Ok(answers::answered(language, answer.await))
}

fn file(visit: &Visit, managed: &Managed) -> Response {
    let (booking, config) = (&managed.booking, &visit.app().config);
    let here = config.public_url.as_str().trim_end_matches('/');
    let url = format!("{here}{}", managed.path());
    let text = Invitation {
        method: Method::Publish,
        uid: uid(booking.series, &config.mail_name()),
        sequence: booking.sequence,
        stamp: booking.created_at,
        starts_at: booking.starts_at,
        ends_at: booking.ends_at,
        summary: &format!("{} with {}", booking.type_name, booking.host_name),
        description: &url,
        place: &booking.place,
        url: Some(&url),
        people: None,
    };
    let headers = [
        ("content-type", "text/calendar; charset=utf-8; method=PUBLISH"),
        ("content-disposition", "attachment; filename=\"booking.ics\""),
    ];
    (headers, text.text()).into_response()
}
