//! The world of the stories: the whole service on a database, clock and randomness of its own, called over real HTTP, and
//! whatever stands around it. The test targets in tests/it tell stories in it, and the benches start their servers with it.
//!
//! It promises that a story is alone: a database and a folder of its own, a clock that moves when the story says so, the
//! same randomness every time. At the end of a story it looks whether work was left behind and whether a count drifted.
//!
//! `cluster`, `site` and `ports` give PostgreSQL and real processes; `mail`, `zone`, `sink`, `outbox` and `model_server` are
//! others on the network; `browser`, `pages`, `programs` and `webhooks` are who asks and who is told; `verbs`, `seed` and
//! `furnished` fill a workspace; `probe` and `canary` look everywhere. `load` is whole workspaces at once, and their costs.
//!
//! It must never know a story, nor which target tells it. No crate of the product may depend on it, and it reaches the
//! product only through what the product's crates have in public.

pub mod browser;
pub mod canary;
pub mod cluster;
mod desk;
pub mod furnished;
pub mod load;
pub mod mail;
mod many;
pub mod model_server;
pub mod outbox;
pub mod pages;
pub mod papers;
mod places;
pub mod ports;
pub mod probe;
pub mod programs;
mod reply;
mod seed;
pub mod sink;
pub mod site;
mod times;
pub mod verbs;
pub mod webhooks;
pub mod zone;

use std::sync::{Arc, Mutex};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use rookery::cli::migrate;
use rookery::routes;
use rookery::worker;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::confined::run::Confined;
use rookery_base::ids::{AgentId, ConversationId, MailboxId, PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_base::store::partitions;
use rookery_core::workspace::access::By;
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::people::{self, Role};
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::{create, keys, mailboxes};
use rookery_http::connections::Connections;
use rookery_http::serve;
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;
use rookery_product::replies::revoke_key;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use self::cluster::{TestDatabase, cluster};
use self::outbox::Outbox;
pub use self::places::{program, root};
pub use self::reply::{Reply, ToolAnswer};
pub use self::seed::Message;
use self::times::Timed;

/// Monday morning, far enough ahead that nothing depends on the day the test runs.
const MORNING: &str = "2031-01-06T09:00:00Z";

/// The service's database role, which does not own the schema.
const SERVICE_ROLE: &str = "rookery_service";
const OWNER_ROLE: &str = "postgres";

/// Sets the database's day, which in production is its clock's.
fn day_is(day: NaiveDate) -> String {
    format!(
        "create or replace function current_day() returns date language sql stable as $$ select date '{day}' $$"
    )
}

fn morning() -> DateTime<Utc> {
    MORNING.parse().expect("a time")
}

/// Credentials of the S3 server of tests/peers/s3.
pub const S3_KEY: &str = "ROOKERYTEST";
pub const S3_SECRET: &str = "only-for-tests";

/// The S3 server that blobs go to, when tests/peers/s3 runs the tests; else they go to a folder.
pub fn s3() -> Option<String> {
    std::env::vars().find(|(name, _)| name == "TEST_S3").map(|(_, address)| address)
}

/// The request limit is another test's subject.
pub const UNHURRIED: &[(&str, &str)] = &[("RATE_LIMIT_REQUESTS", "100000")];

/// Runs a test in a world of its own, and then checks the invariants.
pub async fn story(tell: impl AsyncFnOnce(&World)) {
    story_with(&[], tell).await;
}

/// The same with settings, as `ROOKERY_…` would give them.
pub async fn story_with(settings: &[(&str, &str)], tell: impl AsyncFnOnce(&World)) {
    let _timed = Timed::begin();
    let world = World::new(settings, SERVICE_ROLE).await;
    tell(&world).await;
    world.look_behind().await;
}

/// The same with one role for everything, for what needs `vacuum` or the plans of statements.
pub async fn story_of_one_role(tell: impl AsyncFnOnce(&World)) {
    let _timed = Timed::begin();
    let world = World::new(&[], OWNER_ROLE).await;
    tell(&world).await;
    world.look_behind().await;
}

pub struct World {
    pub app: Arc<App>,
    /// Where the service listens: `http://127.0.0.1:…`
    pub address: String,
    pub http: reqwest::Client,
    /// Where live mail goes, unless the settings name a relay.
    pub outbox: Arc<Outbox>,
    pub database: TestDatabase,
    /// The day the database goes by.
    day: Mutex<NaiveDate>,
    blobs: std::path::PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Live,
    Test,
}

pub struct Workspace<'w> {
    pub world: &'w World,
    pub id: WorkspaceId,
    pub owner: PersonId,
    pub sandbox_address: String,
}

pub struct Key<'w> {
    pub world: &'w World,
    pub agent: AgentId,
    pub text: String,
}

impl World {
    async fn new(settings: &[(&str, &str)], role: &str) -> Self {
        let template = cluster()
            .template(|url| async move {
                let pool = sqlx::PgPool::connect(&url).await.expect("the template can be reached");
                MIGRATIONS.run(&pool).await.expect("the migrations apply");
                let mut conn = pool.acquire().await.expect("a connection");
                let role = format!("create role {SERVICE_ROLE} login; {}", day_is(morning().date_naive()));
                sqlx::raw_sql(AssertSqlSafe(role)).execute(&mut *conn).await.expect("a role and a day");
                migrate::grant(&mut conn, SERVICE_ROLE).await.expect("the grants apply");
                partitions::maintain(&mut conn).await.expect("the days can be made");
                drop(conn);
                pool.close().await;
            })
            .await;
        let database = cluster().database(template).await;
        let blobs =
            std::env::temp_dir().join(format!("rookery-blobs-{}-{}", std::process::id(), database.name()));
        let bucket = s3().map(|server| format!("s3://rookery/{}?endpoint={server}", database.name()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let service_url = database.url().replace(&format!("//{OWNER_ROLE}@"), &format!("//{role}@"));
        let given = [
            ("DATABASE_URL", service_url.as_str()),
            ("PUBLIC_URL", "https://rookery.example"),
            ("BLOBS", &bucket.clone().unwrap_or(format!("file://{}", blobs.display()))),
            ("BLOBS_ACCESS_KEY", S3_KEY),
            ("BLOBS_SECRET_KEY", S3_SECRET),
            ("DATABASE_CONNECTIONS", "5"),
            // A search of a test sees everything, however busy the machine is.
            ("SEARCH_PATIENCE_MILLISECONDS", "5000"),
            ("SECRET_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        ];
        let given =
            given.iter().chain(settings).map(|(key, value)| (format!("ROOKERY_{key}"), (*value).to_owned()));
        let config = Config::load(None, given).expect("the settings are sound");
        let mut app = App::new(config, Clock::set_to(morning()), Random::seeded(7)).expect("an app");
        let outbox = Arc::new(Outbox::default());
        if app.config.relay.is_none() {
            app.mailer = outbox.clone();
        }
        // A test is another program than the service, which starts itself.
        app.confined = Confined::by(crate::program());
        let app = Arc::new(app);
        let router = routes::router(app.clone());
        tokio::spawn(serve::serve(listener, router, Connections::from_config(&app.config), app.stop.clone()));
        let day = Mutex::new(morning().date_naive());
        Self { app, address, outbox, http: reqwest::Client::new(), database, day, blobs }
    }

    pub async fn workspace(&self, name: &str) -> Workspace<'_> {
        self.workspace_on(name, Plan::Pro).await
    }

    pub async fn workspace_on(&self, name: &str, plan: Plan) -> Workspace<'_> {
        let made = create::create(&self.app, name, plan, "olga@rookery.example", "Olga Owner")
            .await
            .expect("a workspace");
        Workspace {
            world: self,
            id: made.workspace,
            owner: made.owner,
            sandbox_address: made.sandbox_address,
        }
    }

    /// Moves the clock.
    pub fn wait(&self, by: TimeDelta) {
        self.app.clock.advance(by);
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.app.clock.now()
    }

    /// Does what the worker would do now, all of it.
    pub async fn work(&self) {
        self.works().await.expect("the worker can work");
    }

    /// Does of it what can be done, and says whether something could not.
    pub async fn works(&self) -> rookery_base::error::Result<()> {
        self.set_day().await;
        worker::run_once(&self.app).await
    }

    /// The database's day follows the clock.
    async fn set_day(&self) {
        let today = self.now().date_naive();
        if std::mem::replace(&mut *self.day.lock().unwrap(), today) != today {
            self.sql(&day_is(today)).await;
        }
    }

    /// The bodies of all recorded events of a kind, oldest first.
    pub async fn events(&self, kind: &str) -> Vec<Value> {
        let bodies: Vec<String> =
            sqlx::query_scalar("select body from events where kind = $1 order by created_at, tableoid, ctid")
                .bind(kind)
                .fetch_all(&self.app.pool)
                .await
                .expect("events can be read");
        bodies.iter().map(|body| serde_json::from_str(body).expect("an event is JSON")).collect()
    }

    pub async fn event_count(&self) -> i64 {
        self.scalar("select count(*) from events").await
    }

    /// Recipients of everything that left in the sandbox, oldest first.
    pub async fn sandbox_ledger(&self) -> Vec<String> {
        self.column("select recipient from sandbox_mail order by at, tableoid, ctid").await
    }

    /// Outbound messages with a due time.
    pub async fn due_messages(&self) -> i64 {
        self.scalar("select count(*) from messages where status = 'scheduled'").await
    }

    /// Everybody who was mentioned in a note, each once.
    pub async fn mentioned(&self) -> Vec<PersonId> {
        self.column("select distinct person_id from mentions order by 1").await
    }

    /// What drafts say to the person who approves them.
    pub async fn summaries(&self) -> Vec<String> {
        self.column("select summary from messages where summary is not null").await
    }

    pub async fn rfc_message_ids(&self) -> Vec<String> {
        self.column("select rfc_message_id from messages where direction = 'outbound'").await
    }

    /// The states of all document requests.
    pub async fn requests(&self) -> Vec<String> {
        self.column("select state from document_requests").await
    }

    pub async fn scalar(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&self.app.pool).await.expect("the query is sound")
    }

    pub async fn column<T>(&self, query: &'static str) -> Vec<T>
    where
        T: Send + Unpin + sqlx::Type<sqlx::Postgres> + for<'r> sqlx::Decode<'r, sqlx::Postgres>,
    {
        sqlx::query_scalar(query).fetch_all(&self.app.pool).await.expect("the query is sound")
    }

    /// No work may be left that nobody claims, and every count must agree with what it counts.
    async fn look_behind(&self) {
        self.set_day().await;
        worker::run_due(&self.app).await.expect("the worker can work");
        if self.left_over().await > 0 {
            // Something was put off, or its turn comes with the next look at everything.
            self.work().await;
        }
        assert_eq!(self.left_over().await, 0, "work was left behind that no loop of the worker claims");
        let drifted: Vec<(String, i64, i64)> = sqlx::query_as(
            "with counted as (
                 select workspace_id, 'open' as what, mailbox_id as subject_id, audience, count(*) as n
                 from conversations where view = 'open' group by 1, 3, 4
                 union all
                 select workspace_id, 'tag', tag_id, audience, count(*) from conversation_tags group by 1, 3, 4
                 union all
                 select workspace_id, 'app-mail', livemode::int, 0, count(*) from app_mail
                 where conversation_id is null group by 1, 3)
             select what, coalesce(counts.n, 0), coalesce(counted.n, 0)
             from counts full join counted using (workspace_id, what, subject_id, audience)
             where coalesce(counts.n, 0) <> coalesce(counted.n, 0)",
        )
        .fetch_all(&self.app.pool)
        .await
        .expect("counts can be compared");
        assert_eq!(drifted, [], "counts drifted from what they count (what, stored, counted)");
    }

    /// Rows that some loop is to work off.
    async fn left_over(&self) -> i64 {
        self.scalar(
            "select (select count(*) from unindexed_conversations) + (select count(*) from unindexed_messages)
                  + (select count(*) from unindexed_notes)
                  + (select count(*) from unsorted_messages)
                  + (select count(*) from count_changes)
                  + (select count(*) from unfanned_events)
                  + (select count(*) from webhook_lanes where leased_until is not null)",
        )
        .await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.blobs);
    }
}

impl<'w> Workspace<'w> {
    pub async fn person(&self, name: &str, role: Role) -> PersonId {
        let email = format!("{}@rookery.example", name.to_lowercase().replace(' ', "."));
        let mut tx = self.world.app.begin(self.id).await.expect("the workspace can be entered");
        let person = people::add(&mut tx, &By::System, &email, name, role).await.expect("a new person");
        tx.commit().await.expect("a commit");
        person
    }

    pub async fn mailbox(&self, address: &str, name: &str) -> MailboxId {
        mailboxes::create(&self.world.app, self.id, &By::System, address, name, None)
            .await
            .expect("a new inbox")
    }

    pub async fn private_mailbox(&self, address: &str, name: &str, owner: PersonId) -> MailboxId {
        mailboxes::create(&self.world.app, self.id, &By::System, address, name, Some(owner))
            .await
            .expect("a new inbox")
    }

    /// A key made by the owner.
    pub async fn key(&self, name: &str, scopes: &str, mode: Mode) -> Key<'w> {
        self.key_of(self.owner, name, scopes, mode).await
    }

    pub async fn key_of(&self, maker: PersonId, name: &str, scopes: &str, mode: Mode) -> Key<'w> {
        let scopes: Vec<_> = scopes.split(',').map(|scope| scope.parse().expect("a scope")).collect();
        let livemode = mode == Mode::Live;
        let wanted = keys::KeyChoices { name, scopes: &scopes, livemode, caps: Caps::default() };
        let made = keys::create(&self.world.app, self.id, &By::System, maker, wanted).await;
        let made = made.unwrap_or_else(|error| panic!("a key: {error}"));
        Key { world: self.world, agent: made.agent, text: made.key }
    }

    pub async fn revoke(&self, key: &Key<'_>) {
        revoke_key::revoke(&self.world.app, self.id, &By::System, key.agent).await.expect("the key is there");
    }

    /// A raw mail that arrives at a live inbox.
    pub async fn receives(&self, mailbox: MailboxId, raw: &str) -> Received {
        self.receives_with(mailbox, raw, Dmarc::Unknown).await
    }

    /// The same, confirmed by its sender's domain.
    pub async fn receives_confirmed(&self, mailbox: MailboxId, raw: &str) -> Received {
        self.receives_with(mailbox, raw, Dmarc::Pass).await
    }

    /// A report of another server that comes to the return path of a mail from help@acme.example.
    pub async fn receives_returned(&self, return_path: &str, raw: &str) -> Received {
        let app = &self.world.app;
        let mut conn = app.connection().await.unwrap();
        let named = sqlx::query_scalar(
            "select id from mailboxes where workspace_id = $1 and address = 'help@acme.example'",
        );
        let id: i64 = named.bind(self.id.0).fetch_one(&mut *conn).await.unwrap();
        let mailbox = mailboxes::live(&mut conn, self.id, MailboxId(id)).await.expect("an inbox");
        let raw = raw.replace('\n', "\r\n").into_bytes();
        let mut delivery = Delivery::from_raw(mailbox, raw, Dmarc::Unknown);
        delivery.recipient = Some(return_path.to_owned());
        delivery.verdict.null_sender = true;
        receive(app, self.id, delivery).await.expect("the pipeline works")
    }

    async fn receives_with(&self, mailbox: MailboxId, raw: &str, dmarc: Dmarc) -> Received {
        let app = &self.world.app;
        let mailbox =
            mailboxes::live(&mut app.connection().await.unwrap(), self.id, mailbox).await.expect("an inbox");
        let raw = raw.replace('\n', "\r\n").into_bytes();
        receive(app, self.id, Delivery::from_raw(mailbox, raw, dmarc)).await.expect("the pipeline works")
    }

    /// A short mail that arrives at a live inbox and opens a conversation.
    pub async fn mail(&self, mailbox: MailboxId, from: &str, subject: &str, text: &str) -> ConversationId {
        let id = self.world.app.random.hex(16);
        let raw = format!(
            "Message-ID: <{id}@customer.example>\nFrom: {from}\nTo: team@rookery.example\nSubject: {subject}\n\n{text}\n"
        );
        match self.receives(mailbox, &raw).await {
            Received::Stored(stored) => stored.conversation,
            other => panic!("the mail was not stored: {other:?}"),
        }
    }
}

impl Key<'_> {
    /// A REST read.
    pub async fn get(&self, path: &str) -> Reply {
        let request = self.world.http.get(format!("{}/api/v1{path}", self.world.address));
        Reply::of(request.bearer_auth(&self.text)).await
    }

    /// A REST write.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        let request = self.world.http.post(format!("{}/api/v1{path}", self.world.address));
        Reply::of(request.bearer_auth(&self.text).json(&body)).await
    }

    /// A reply that leaves after its window; gives its message.
    pub async fn sends(&self, conversation: impl ToString, body: &str) -> String {
        self.replies(conversation, json!({ "body": body, "send": true })).await
    }

    /// A draft for a person to approve; gives its message.
    pub async fn drafts(&self, conversation: impl ToString, body: &str) -> String {
        self.replies(conversation, json!({ "body": body })).await
    }

    pub async fn replies(&self, conversation: impl ToString, body: Value) -> String {
        let reply = self.post(&format!("/conversations/{}/replies", conversation.to_string()), body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.json()["messageId"].as_str().expect("a message id").to_owned()
    }

    /// A message as the conversation shows it.
    pub async fn message(&self, conversation: impl ToString, message: &str) -> Value {
        let read = self.conversation(conversation).await;
        let items = read["timeline"].as_array().expect("a timeline");
        items.iter().find(|item| item["id"] == message).unwrap_or(&Value::Null).clone()
    }

    /// The event items of a conversation's timeline with a name.
    pub async fn told(&self, conversation: impl ToString, event: &str) -> Vec<Value> {
        let read = self.conversation(conversation).await;
        let items = read["timeline"].as_array().expect("a timeline");
        items.iter().filter(|item| item["event"] == event).map(|item| item["data"].clone()).collect()
    }

    /// A simulated mail; gives its conversation.
    pub async fn simulate(&self, body: Value) -> String {
        let reply = self.post("/sandbox/inbound", body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.json()["conversationId"].as_str().expect("a conversation id").to_owned()
    }

    /// Any JSON-RPC message to the MCP server.
    pub async fn mcp(&self, message: Value) -> Reply {
        let request = self.world.http.post(format!("{}/mcp", self.world.address));
        Reply::of(request.bearer_auth(&self.text).json(&message)).await
    }

    /// A tool call.
    pub async fn tool(&self, name: &str, arguments: Value) -> ToolAnswer {
        let params = json!({ "name": name, "arguments": arguments });
        let reply =
            self.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
        ToolAnswer::of(&reply)
    }

    /// Writes by REST and then by MCP: both must be done, with the same kind of answer. Gives REST's.
    pub async fn write(&self, id: &str, path: &str, tool: &str, body: Value, status: u16) -> Value {
        let reply = self.post(&format!("/conversations/{id}/{path}"), body.clone()).await;
        assert_eq!(reply.status, status, "{}", reply.text);
        let mut arguments = body;
        arguments["id"] = json!(id);
        match self.tool(tool, arguments).await {
            ToolAnswer::Done { structured, .. } => {
                assert_eq!(keys_of(&structured), keys_of(&reply.json()), "{tool}")
            }
            failed => panic!("{tool}: {failed:?}"),
        }
        reply.json()
    }

    /// Refused by REST and by MCP with the same status and sentence, which is given.
    pub async fn refused(&self, id: &str, path: &str, tool: &str, body: Value) -> (u16, String) {
        let reply = self.post(&format!("/conversations/{id}/{path}"), body.clone()).await;
        let mut arguments = body;
        arguments["id"] = json!(id);
        let answer = ToolAnswer::Failed { status: reply.status, sentence: reply.error() };
        assert_eq!(self.tool(tool, arguments).await, answer, "{tool}");
        (reply.status, reply.error())
    }

    /// Reads by REST and by MCP: both must say the same, with the same status. Gives the status and the JSON.
    pub async fn read(&self, path: &str, tool: &str, arguments: Value) -> (u16, Value) {
        let (rest, mcp) = (self.get(path).await, self.tool(tool, arguments).await);
        match &mcp {
            ToolAnswer::Done { text, structured } => {
                assert_eq!(*text, rest.text, "{tool} and GET {path} differ");
                let json = rest.json();
                let mut wrapped = if json.is_array() { json!({ "items": json }) } else { json };
                if let Some((_, cursor)) = rest.header("link").and_then(|link| link.split_once("cursor=")) {
                    wrapped["nextCursor"] = json!(cursor.split_once('>').expect("a link ends").0);
                }
                assert_eq!(*structured, wrapped, "{tool}'s structured content is something else");
            }
            ToolAnswer::Failed { status, sentence } => {
                assert_eq!(
                    (*status, json!({ "error": sentence })),
                    (rest.status, rest.json()),
                    "{tool}, GET {path}"
                );
            }
        }
        (rest.status, rest.json())
    }

    /// The conversation list by REST and MCP.
    pub async fn list(&self, query: &str) -> (u16, Value) {
        let path =
            if query.is_empty() { "/conversations".to_owned() } else { format!("/conversations?{query}") };
        self.read(&path, "list_conversations", arguments_of(query)).await
    }

    /// The ids that a list gives, in its order.
    pub async fn listed(&self, query: &str) -> Vec<String> {
        let (status, list) = self.list(query).await;
        assert_eq!(status, 200, "{query}: {list}");
        let list = list.as_array().expect("an array").iter();
        list.map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// One conversation by REST and MCP.
    pub async fn conversation(&self, id: impl ToString) -> Value {
        let id = id.to_string();
        let (status, json) =
            self.read(&format!("/conversations/{id}"), "get_conversation", json!({ "id": id })).await;
        assert_eq!(status, 200, "{json}");
        json
    }
}

fn keys_of(value: &Value) -> Vec<&String> {
    value.as_object().map(|fields| fields.keys().collect()).unwrap_or_default()
}

/// A query string as a tool's arguments: numbers as numbers, empty values left out.
fn arguments_of(query: &str) -> Value {
    let pairs = url::form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty());
    let value = |text: &str| text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number));
    Value::Object(
        pairs
            .map(|(name, text)| {
                let value = if name == "limit" { value(&text) } else { json!(text) };
                (name.into_owned(), value)
            })
            .collect(),
    )
}
