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
use chrono::TimeDelta;
use jiff::tz::TimeZone;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use url::form_urlencoded;

use crate::show::Times;
use rookery_base::app::App;
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::one_at_a_time::OneAtATime;
use rookery_base::store::connection::DatabaseConnection;
use rookery_base::store::db::{Handle, Reading, Snapshot, Tx};
use rookery_core::workspace::people::Person;
use rookery_core::workspace::sessions::Session;
use rookery_http::bodies::{Bodies, Caller, WholeBody};
use rookery_http::serve::From;
use rookery_reading::html::written;

/// Bytes of a form without files.
pub const MOST_FORM_BYTES: usize = 2 << 20;
/// How long a connection to the database is held while a form arrives. Most forms have arrived by then.
const AT_HAND: Duration = Duration::from_millis(5);
/// Bytes of a form of somebody who is not signed in.
pub const MOST_STRANGERS_BYTES: usize = 16 << 10;

/// The workspace under which links are counted that name none.
const NO_WORKSPACE: WorkspaceId = WorkspaceId(0);

/// What all pages share.
pub struct Web {
    pub app: Arc<App>,
    pub bodies: Arc<Bodies>,
    /// The origin of our own pages, which forms have to come from.
    pub origin: String,
    /// The Content-Security-Policy of pages.
    pub policy: HeaderValue,
    /// Health checks that run now, by workspace, or None for the server. The result is how many checks failed.
    pub examinations: OneAtATime<Option<WorkspaceId>, usize>,
}

pub struct Visit {
    pub web: Arc<Web>,
    pub parts: Parts,
    params: Vec<(String, String)>,
    query: FormFields,
    /// A body can be read once, and is not `Sync`.
    body: Mutex<Option<Body>>,
}

/// A request of somebody who is signed in.
pub struct MemberRequest {
    pub visit: Visit,
    /// For what this person asks.
    app: Arc<App>,
    pub person: Person,
    pub session: Session,
    /// The connection that found the session. Whoever reads or writes first takes it.
    kept: Mutex<Option<DatabaseConnection>>,
}

/// The names and values of a query or a form, in their order.
#[derive(Default)]
pub struct FormFields(Vec<(String, String)>);

/// What somebody formatted, in the form that is kept, and its words. Of what is only text there is neither.
#[derive(Default)]
pub struct Formatted {
    pub html: String,
    pub words: Option<String>,
}

/// The fields of a form, with the memory that is reserved for them.
pub struct Form {
    fields: FormFields,
    _whole: WholeBody,
}

impl Visit {
    pub fn new(web: Arc<Web>, parts: Parts, params: Vec<(String, String)>, body: Body) -> Self {
        let query = FormFields::read(parts.uri.query().unwrap_or_default().as_bytes());
        Self { web, parts, params, query, body: Mutex::new(Some(body)) }
    }

    pub fn app(&self) -> &Arc<App> {
        &self.web.app
    }

    /// An id in the path. A malformed id is the same 404 as an unknown one.
    pub fn id<I: FromStr>(&self, name: &str) -> Result<I> {
        self.param(name).and_then(|text| text.parse().ok()).ok_or(NO_ENDPOINT)
    }

    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name)
    }

    pub fn queries(&self) -> &FormFields {
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

    /// A connection for the page of a customer, counted in the share of the workspace that its link names. Links that name
    /// no workspace lead nowhere and have one share together.
    pub async fn customers_connection(&self) -> Result<DatabaseConnection> {
        let workspace = self.id("workspace").unwrap_or(NO_WORKSPACE);
        self.app().connection_of(workspace).await
    }

    async fn form_of(&self, of: Caller, most: usize) -> Result<Form> {
        let body = self.take_body();
        let whole = self.web.bodies.clone().read(body, most, of).await?;
        Ok(Form { fields: FormFields::read(&whole.bytes), _whole: whole })
    }

    /// The form of somebody who is not signed in.
    pub async fn strangers_form(&self) -> Result<Form> {
        self.form_of(Caller::Stranger(self.asker()), MOST_STRANGERS_BYTES).await
    }
}

impl MemberRequest {
    pub fn new(
        visit: Visit,
        app: Arc<App>,
        person: Person,
        session: Session,
        conn: DatabaseConnection,
    ) -> Self {
        Self { visit, app, person, session, kept: Mutex::new(Some(conn)) }
    }

    pub async fn form(&self) -> Result<Form> {
        let mut reading = pin!(self.visit.form_of(Caller::Workspace(self.person.workspace), MOST_FORM_BYTES));
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

    /// The app, for what takes a connection of its own. The kept connection is given back first, so that no request waits
    /// for a second connection while it holds one.
    pub fn app(&self) -> &Arc<App> {
        self.let_go();
        &self.app
    }

    fn let_go(&self) {
        drop(self.kept());
    }

    fn kept(&self) -> Option<DatabaseConnection> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The zone in which this person reads times.
    pub fn zone(&self) -> TimeZone {
        TimeZone::get(&self.session.zone).unwrap_or(TimeZone::UTC)
    }

    /// How long this person can take back a mail of their own; never longer than what anybody sends.
    pub fn undo_window(&self) -> TimeDelta {
        let chosen = TimeDelta::seconds(i64::from(self.session.undo_seconds));
        chosen.min(self.app.config.undo_window(true))
    }

    pub fn times(&self) -> Times {
        Times { now: self.app.clock.now(), zone: self.zone(), dates: self.session.dates }
    }

    pub async fn reading(&self) -> Result<Reading> {
        self.handle().await
    }

    pub async fn snapshot(&self) -> Result<Snapshot> {
        self.handle().await
    }

    pub async fn tx(&self) -> Result<Tx<'static>> {
        Tx::begin(self.connection().await?, self.app.frame(self.person.workspace)).await
    }

    async fn handle<H: Handle>(&self) -> Result<H> {
        H::begin(self.connection().await?, self.app.frame(self.person.workspace)).await
    }

    async fn connection(&self) -> Result<DatabaseConnection> {
        match self.kept() {
            Some(conn) => Ok(conn),
            None => self.app.connection_of(self.person.workspace).await,
        }
    }

    /// Whether the parts of a page with this topic are needed. All are, unless an open page asks for what has changed
    /// (header `X-Live`, topics separated by spaces).
    pub fn wants(&self, topic: &str) -> bool {
        let Some(topics) = self.header("x-live") else { return true };
        let names_none = !topics.contains(char::is_alphabetic);
        names_none || topics.split(' ').any(|asked| asked == topic || asked == "*")
    }
}

impl Deref for MemberRequest {
    type Target = Visit;
    fn deref(&self) -> &Visit {
        &self.visit
    }
}

impl FormFields {
    fn read(bytes: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(bytes);
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The fields of a query string.
    pub fn of_query(query: &str) -> Self {
        Self::read(query.as_bytes())
    }

    /// The text fields of a form with files.
    pub fn from_pairs(fields: Vec<(String, String)>) -> Self {
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

    /// What the editor of the page wrote into `body` and `html`. Without it the text holds. None if it is too much to keep.
    pub async fn formatted(&self) -> Result<Option<Formatted>> {
        let typed = self.get("html").filter(|html| self.flag("rich") && !html.is_empty());
        let Some(typed) = typed.map(str::to_owned) else { return Ok(Some(Formatted::default())) };
        // A long text would keep a thread of the runtime.
        let cleaned = spawn_blocking(move || {
            let html = written::stored(&typed)?;
            let words = (!html.is_empty()).then(|| written::text(&html));
            Some(Formatted { html, words })
        });
        cleaned.await.map_err(Error::internal)
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
    type Target = FormFields;
    fn deref(&self) -> &FormFields {
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
