//! What a request costs PostgreSQL, in buffers: of the very statements the product runs, as it runs them.
//!
//! The service is asked through its own router. Its connections have `auto_explain` loaded, which sends the
//! plan of every statement back as a notice; a subscriber on this thread catches the notices. Nothing is
//! copied from the product, and the pool's own settings (`force_generic_plan`) hold.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use rookery::routes;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::random::Random;
use serde_json::Value;
use sqlx::PgConnection;
use tower::ServiceExt;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::{Loaded, SECRET};

/// One kind of read, and where it is asked.
pub struct Read {
    pub name: &'static str,
    pub path: String,
    /// Buffers that it may take in a workspace of any size, key authentication apart.
    pub budget: i64,
}

/// Every list, filter, read and count that must not grow with the workspace. The first asks for nothing but
/// who asks; its row is the authentication that all others pay as well.
pub fn reads(of: &Loaded) -> Vec<Read> {
    let mailbox = &of.mailbox;
    let read = |name, path: String, budget| Read { name, path, budget };
    let list = |name, query: &str, budget| read(name, format!("/conversations?{query}"), budget);
    vec![
        read("key authentication", "/me".into(), 8),
        list("open, 25", "limit=25", 600),
        list("open, 100", "limit=100", 2_000),
        list("waiting, 25", "view=waiting&limit=25", 600),
        list("waiting, 100", "view=waiting&limit=100", 2_000),
        list("snoozed, 25", "view=snoozed&limit=25", 600),
        list("snoozed, 100", "view=snoozed&limit=100", 2_000),
        list("closed, 25", "view=closed&limit=25", 600),
        list("closed, 100", "view=closed&limit=100", 2_000),
        list("open in one inbox", &format!("mailbox={mailbox}"), 600),
        list("closed in one inbox", &format!("view=closed&mailbox={mailbox}"), 600),
        list("open, assigned to me", "assigned=me", 700),
        list("closed, assigned to me", "view=closed&assigned=me", 700),
        list("open, unassigned", "assigned=unassigned", 700),
        list("closed, unassigned", "view=closed&assigned=unassigned", 700),
        list(
            "closed in one inbox, unassigned",
            &format!("view=closed&assigned=unassigned&mailbox={mailbox}"),
            700,
        ),
        list("open in one inbox, unassigned", &format!("assigned=unassigned&mailbox={mailbox}"), 700),
        list("by reference, all", &format!("view=all&reference={}", of.reference), 80),
        list(
            "by reference in one inbox",
            &format!("view=closed&reference={}&mailbox={mailbox}", of.reference),
            80,
        ),
        read("a conversation of 200 items", format!("/conversations/{}", of.long_conversation), 150),
        read("inboxes with open counts", "/mailboxes".into(), 80),
        read("tags with counts", "/tags".into(), 80),
        read("documents, newest 25", "/documents".into(), 80),
        read("documents of a kind, newest 25", "/documents?kind=invoice".into(), 80),
    ]
}

/// What a read took.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub buffers: i64,
    /// Rows of the answer.
    pub rows: usize,
    pub statements: usize,
}

/// A statement that PostgreSQL explained.
pub struct Statement {
    pub text: String,
    pub buffers: i64,
    pub milliseconds: f64,
    plan: String,
}

impl Statement {
    fn parse(notice: &str) -> Option<Self> {
        let (time, json) = notice.split_once("plan:\n")?;
        let explained: Value = serde_json::from_str(json).ok()?;
        let plan = &explained["Plan"];
        let blocks = |name: &str| plan[name].as_i64().unwrap_or_default();
        Some(Self {
            text: explained["Query Text"].as_str()?.to_owned(),
            buffers: blocks("Shared Hit Blocks") + blocks("Shared Read Blocks"),
            milliseconds: time.split(' ').nth(1)?.parse().ok()?,
            plan: plan.to_string(),
        })
    }

    pub fn uses_index(&self, name: &str) -> bool {
        self.plan.contains(&format!(r#""Index Name":"{name}""#))
    }

    pub fn authenticates(&self) -> bool {
        self.text.contains("key_hash = $2")
    }

    /// Taking blocks of the rate limit happens now and then, in whatever request comes by.
    fn is_rate_limit(&self) -> bool {
        self.text.contains("rate_blocks")
    }
}

/// The service on one connection, with every statement explained or with none.
pub struct Reader {
    app: Arc<App>,
    router: Router,
    notices: Notices,
    _listening: Option<DefaultGuard>,
}

impl Reader {
    /// Must stay on the thread that made it: that is where the notices are caught.
    pub fn explained(database_url: &str, clock: Clock) -> Self {
        let settings = [
            ("session_preload_libraries", "auto_explain"),
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_buffers", "on"),
            ("auto_explain.log_timing", "off"),
            ("auto_explain.log_format", "json"),
            ("auto_explain.log_level", "notice"),
            ("client_min_messages", "notice"),
        ];
        let settings = settings.map(|(name, value)| format!("options[{name}]={value}")).join("&");
        let notices = Notices::default();
        let subscriber = tracing_subscriber::registry().with(notices.clone());
        let listening = tracing::subscriber::set_default(subscriber);
        Self::new(&format!("{database_url}?{settings}"), clock, notices, Some(listening))
    }

    pub fn plain(database_url: &str, clock: Clock) -> Self {
        Self::new(database_url, clock, Notices::default(), None)
    }

    fn new(url: &str, clock: Clock, notices: Notices, listening: Option<DefaultGuard>) -> Self {
        let given = [
            ("DATABASE_URL", url),
            ("BLOBS", "file:///tmp"),
            // One, so that waiting for it means that the request before is wholly over.
            ("DATABASE_CONNECTIONS", "1"),
            ("RATE_LIMIT_REQUESTS", "1000000000"),
            ("SECRET_KEY", SECRET),
        ];
        let given = given.map(|(name, value)| (format!("ROOKERY_{name}"), value.to_owned()));
        let config = Config::load(None, given.into_iter()).expect("the settings are sound");
        let app = Arc::new(App::new(config, clock, Random::seeded(3)).expect("an app"));
        Self { router: routes::router(app.clone()), app, notices, _listening: listening }
    }

    /// Asks the service and gives the JSON of its answer.
    pub async fn get(&self, key: &str, path: &str) -> Value {
        self.page_of(key, path).await.0
    }

    /// The same, with the path of the next page when there is one.
    pub async fn page_of(&self, key: &str, path: &str) -> (Value, Option<String>) {
        let request = Request::get(format!("/api/v1{path}"))
            .header(header::AUTHORIZATION, format!("Bearer {key}"))
            .body(Body::empty())
            .expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let status = response.status();
        let link = response.headers().get(header::LINK).and_then(|link| link.to_str().ok());
        let next = link.and_then(|link| link.split_once("/api/v1")?.1.split_once('>'));
        let next = next.map(|(path, _)| path.to_owned());
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        assert_eq!(status, StatusCode::OK, "{path}: {}", String::from_utf8_lossy(&body));
        (serde_json::from_slice(&body).expect("JSON"), next)
    }

    /// The statements that a write runs, with an Idempotency-Key or without.
    pub async fn write(&self, key: &str, path: &str, body: &Value, name: Option<&str>) -> Vec<Statement> {
        self.settle().await;
        self.notices.take();
        let mut request =
            Request::post(format!("/api/v1{path}")).header(header::AUTHORIZATION, format!("Bearer {key}"));
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        let request = request.body(Body::from(body.to_string())).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        assert!(response.status().is_success(), "{path}: {}", response.status());
        drop(response);
        self.settle().await;
        let statements = self.notices.take();
        let statements = statements.iter().filter_map(|notice| Statement::parse(notice));
        statements.filter(|statement| !statement.is_rate_limit()).collect()
    }

    /// The statements that a request runs.
    pub async fn statements(&self, key: &str, path: &str) -> (Value, Vec<Statement>) {
        self.settle().await;
        self.notices.take();
        let answer = self.get(key, path).await;
        self.settle().await;
        let statements = self.notices.take();
        let statements = statements.iter().filter_map(|notice| Statement::parse(notice));
        (answer, statements.filter(|statement| !statement.is_rate_limit()).collect())
    }

    /// A page of the app, for whoever has this session: its status and the statements that it took.
    pub async fn page(&self, method: Method, token: &str, path: &str) -> (StatusCode, Vec<Statement>) {
        self.settle().await;
        self.notices.take();
        let origin = self.app.config.public_url.origin().ascii_serialization();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::COOKIE, format!("__Host-rookery={token}; rookery_session={token}"))
            .header(header::ORIGIN, origin)
            .body(Body::empty())
            .expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let status = response.status();
        drop(response);
        self.settle().await;
        let statements = self.notices.take();
        (status, statements.iter().filter_map(|notice| Statement::parse(notice)).collect())
    }

    /// The statements that a piece of work runs on the one connection.
    pub async fn explain<T>(&self, work: impl AsyncFnOnce(&mut PgConnection) -> T) -> (T, Vec<Statement>) {
        self.explain_in(async |app| work(&mut *app.connection().await.expect("the connection is free")).await)
            .await
    }

    /// The statements that a piece of work runs that takes the one connection by itself.
    pub async fn explain_in<T>(&self, work: impl AsyncFnOnce(&App) -> T) -> (T, Vec<Statement>) {
        self.settle().await;
        self.notices.take();
        let done = work(&self.app).await;
        self.settle().await;
        let statements = self.notices.take();
        (done, statements.iter().filter_map(|notice| Statement::parse(notice)).collect())
    }

    /// What a read takes when everything is warm: the second time of two.
    pub async fn cost(&self, key: &str, read: &Read) -> Cost {
        self.get(key, &read.path).await;
        let (answer, statements) = self.statements(key, &read.path).await;
        let only_key = read.path == "/me";
        let counted: Vec<&Statement> =
            statements.iter().filter(|statement| statement.authenticates() == only_key).collect();
        assert!(!counted.is_empty(), "{}: no statement was explained", read.name);
        let rows = match &answer {
            Value::Array(items) => items.len(),
            item => item["timeline"].as_array().map_or(1, Vec::len),
        };
        let buffers = counted.iter().map(|statement| statement.buffers).sum();
        Cost { buffers, rows, statements: counted.len() }
    }

    /// Waits until the connection is back and everything it had to say was read.
    async fn settle(&self) {
        let mut conn = self.app.connection().await.expect("the connection comes back");
        sqlx::raw_sql("do $$ begin end $$").execute(&mut *conn).await.expect("the connection answers");
    }
}

/// Catches what PostgreSQL says beside its answers.
#[derive(Clone, Default)]
struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: Subscriber> Layer<S> for Notices {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == "sqlx::postgres::notice" && *metadata.level() <= Level::INFO
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        struct Message<'a>(&'a mut Vec<String>);
        impl Visit for Message<'_> {
            fn record_str(&mut self, field: &Field, value: &str) {
                if field.name() == "message" {
                    self.0.push(value.to_owned());
                }
            }
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0.push(format!("{value:?}"));
                }
            }
        }
        event.record(&mut Message(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}
