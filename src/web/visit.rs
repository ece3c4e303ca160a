//! A request of a browser: `Visit` of anyone, `Asked` of somebody who is signed in. They give a page what it reads: ids
//! of the path, the query, the form, and the ways to hold a connection.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;
use std::pin::pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use jiff::tz::TimeZone;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use tokio::time::timeout;
use url::form_urlencoded;

use crate::app::App;
use crate::error::{Error, NO_ENDPOINT, Result};
use crate::http::bodies::{Bodies, Whole};
use crate::http::serve::From;
use crate::ids::WorkspaceId;
use crate::store::db::{Handle, Reading, Snapshot, Tx};
use crate::web::show::Times;
use crate::workspace::people::Person;
use crate::workspace::sessions::Session;

/// Of a form without files.
pub const MOST_FORM_BYTES: usize = 2 << 20;
/// How long a connection to the database is held while a form comes: most are there already.
const AT_HAND: Duration = Duration::from_millis(5);
/// Of somebody who is not signed in.
pub const MOST_STRANGERS_BYTES: usize = 16 << 10;

/// What all pages share.
pub struct Web {
    pub app: Arc<App>,
    pub bodies: Arc<Bodies>,
    /// Where our own pages are: forms come from there.
    pub origin: String,
    /// What pages may load.
    pub policy: HeaderValue,
}

pub struct Visit {
    pub web: Arc<Web>,
    pub parts: Parts,
    params: Vec<(String, String)>,
    query: Fields,
    /// A body can be read once, and is not `Sync`.
    body: Mutex<Option<Body>>,
}

/// A request of somebody who is signed in.
pub struct Asked {
    pub visit: Visit,
    pub person: Person,
    pub session: Session,
    /// The connection that found the session. Whoever reads or writes first takes it.
    pub kept: Mutex<Option<PoolConnection<Postgres>>>,
}

/// What a query or a form holds, in its order.
#[derive(Default)]
pub struct Fields(Vec<(String, String)>);

/// The fields of a form, and its reservation of memory.
pub struct Form {
    fields: Fields,
    _whole: Whole,
}

impl Visit {
    pub fn new(web: Arc<Web>, parts: Parts, params: Vec<(String, String)>, body: Body) -> Self {
        let query = Fields::read(parts.uri.query().unwrap_or_default().as_bytes());
        Self { web, parts, params, query, body: Mutex::new(Some(body)) }
    }

    pub fn app(&self) -> &Arc<App> {
        &self.web.app
    }

    /// An id that the path names. A text that is none is the same 404 as one of nothing.
    pub fn id<I: FromStr>(&self, name: &str) -> Result<I> {
        self.param(name).and_then(|text| text.parse().ok()).ok_or(NO_ENDPOINT)
    }

    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name)
    }

    pub fn queries(&self) -> &Fields {
        &self.query
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The path and query of this request.
    pub fn here(&self) -> &str {
        self.parts.uri.path_and_query().map_or("/", |here| here.as_str())
    }

    /// The text of the session cookie.
    pub fn session_token(&self) -> Option<&str> {
        self.cookie(cookie_name(self.app()))
    }

    pub fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.parts.headers.get_all(header::COOKIE);
        let pairs = cookies.iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
        let found = pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(own, _)| *own == name);
        found.map(|(_, value)| value)
    }

    /// The body as it comes, for files.
    pub fn take_body(&self) -> Body {
        self.body.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    /// The network that a request comes from: an IPv4 address or an IPv6 /64, behind proxies that are trusted.
    pub fn asker(&self) -> IpAddr {
        let from = self.parts.extensions.get::<From>().copied();
        let from = from.unwrap_or(From(Ipv4Addr::UNSPECIFIED.into()));
        from.asker(&self.app().config.trusted_proxies, &self.parts.headers)
    }

    async fn form_of(&self, workspace: WorkspaceId, most: usize) -> Result<Form> {
        let body = self.take_body();
        let whole = self.web.bodies.clone().read(body, most, workspace).await?;
        Ok(Form { fields: Fields::read(&whole.bytes), _whole: whole })
    }

    /// The form of somebody who is not signed in.
    pub async fn strangers_form(&self) -> Result<Form> {
        self.form_of(WorkspaceId(0), MOST_STRANGERS_BYTES).await
    }
}

impl Asked {
    pub async fn form(&self) -> Result<Form> {
        let mut reading = pin!(self.visit.form_of(self.person.workspace, MOST_FORM_BYTES));
        if let Ok(form) = timeout(AT_HAND, reading.as_mut()).await {
            return form;
        }
        // No connection to the database waits for a client.
        self.let_go();
        reading.await
    }

    pub fn take_body(&self) -> Body {
        self.let_go();
        self.visit.take_body()
    }

    /// The app, for what takes a connection of its own: the one that is kept goes back first, so that nobody waits for a
    /// second one while they hold one.
    pub fn app(&self) -> &Arc<App> {
        self.let_go();
        self.visit.app()
    }

    fn let_go(&self) {
        drop(self.kept());
    }

    fn kept(&self) -> Option<PoolConnection<Postgres>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The zone in which this person reads times.
    pub fn zone(&self) -> TimeZone {
        TimeZone::get(&self.session.zone).unwrap_or(TimeZone::UTC)
    }

    pub fn times(&self) -> Times {
        Times { now: self.visit.app().clock.now(), zone: self.zone(), dates: self.session.dates }
    }

    pub async fn reading(&self) -> Result<Reading> {
        self.handle().await
    }

    pub async fn snapshot(&self) -> Result<Snapshot> {
        self.handle().await
    }

    pub async fn tx(&self) -> Result<Tx<'static>> {
        Tx::begin(self.connection().await?, self.visit.app().frame(self.person.workspace)).await
    }

    async fn handle<H: Handle>(&self) -> Result<H> {
        H::begin(self.connection().await?, self.visit.app().frame(self.person.workspace)).await
    }

    async fn connection(&self) -> Result<PoolConnection<Postgres>> {
        match self.kept() {
            Some(conn) => Ok(conn),
            None => self.visit.app().connection().await,
        }
    }

    /// Whether the parts of a page with this topic are asked for: all are, unless a page that is open asks anew for what
    /// has changed (`X-Live`, topics with spaces between them).
    pub fn wants(&self, topic: &str) -> bool {
        let Some(topics) = self.header("x-live") else { return true };
        let names_none = !topics.contains(char::is_alphabetic);
        names_none || topics.split(' ').any(|asked| asked == topic || asked == "*")
    }
}

impl Deref for Asked {
    type Target = Visit;
    fn deref(&self) -> &Visit {
        &self.visit
    }
}

impl Fields {
    fn read(bytes: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(bytes);
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// What an address holds behind its question mark.
    pub fn of_query(query: &str) -> Self {
        Self::read(query.as_bytes())
    }

    /// What a form with files holds beside them.
    pub fn of(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// All of it, in its order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// A field that has to be there; it may be empty.
    pub fn text(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| Error::problem(name, "is required"))
    }

    /// A ticked box or a pressed button.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A field that, when there is one, has to name something of this kind.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        let given = self.get(name).filter(|text| !text.is_empty());
        given
            .map(|text| {
                text.parse().map_err(|_| Error::problem(name, "is not one of those that are offered"))
            })
            .transpose()
    }
}

impl Deref for Form {
    type Target = Fields;
    fn deref(&self) -> &Fields {
        &self.fields
    }
}

/// With https the cookie is bound to this very host.
pub fn cookie_name(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery",
        _ => "rookery_session",
    }
}
