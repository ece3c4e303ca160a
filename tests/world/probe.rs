//! Unusual requests to every operation, and dumps of every row and file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use reqwest::{Method, RequestBuilder};
use rookery_api::operation::Needs;
use rookery_api::registry::{OPERATIONS, RegisteredOperation};
use rookery_core::workspace::access::Scope;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{Key, Reply, ToolAnswer, World};

/// An id that nothing has.
pub const NOBODY: &str = "cnv_0000000000000";

/// Every operation with its path, below the REST prefix, where an id in the path is `id`.
pub fn operations(id: &str) -> impl Iterator<Item = (&'static RegisteredOperation, String)> {
    // Those that name a document have stories of their own (tests/it/documents), and so have contacts (operations/contacts)
    // and webhooks (webhooks/by_api.rs).
    let named = |entry: &&RegisteredOperation| {
        entry.spec.needs != Needs::Scope(Scope::Webhooks)
            && (!entry.spec.names_something() || entry.spec.names_a_conversation())
    };
    OPERATIONS.iter().filter(named).map(move |entry| (entry, entry.spec.path.replace("{id}", id)))
}

/// `path?name=value`, with the value written as a query writes it.
pub fn with_query(path: &str, name: &str, value: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish();
    format!("{path}?{query}")
}

impl World {
    /// Any request to the host, without a key.
    pub fn ask(&self, method: &str, path: &str) -> RequestBuilder {
        let method: Method = method.parse().expect("a method");
        self.http.request(method, format!("{}{path}", self.address))
    }

    /// As the schema's owner, who may do what the service may not.
    pub async fn sql(&self, statement: &str) {
        let mut owner = PgConnection::connect(self.database.url()).await.expect("the owner is let in");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut owner).await.expect(statement);
        owner.close().await.expect("the connection closes");
    }

    /// A transaction of somebody else, which keeps what the statement locks until it is closed.
    pub async fn holding(&self, statement: &str) -> PgConnection {
        let mut holder = PgConnection::connect(self.database.url()).await.expect("the owner is let in");
        let locking = format!("begin; {statement}");
        sqlx::raw_sql(AssertSqlSafe(locking)).execute(&mut holder).await.expect(statement);
        holder
    }

    /// Every table with all its rows as text, except the rate limit's own.
    pub async fn rows(&self) -> BTreeMap<String, Vec<String>> {
        let mut rows = rows_of(&self.app.pool).await;
        rows.remove("public.rate_blocks").expect("the rate limit has a table");
        // A call that is taken is written down, also when it finds its work done already.
        rows.remove("public.agent_calls").expect("calls have a table");
        rows
    }

    /// Puts a file where the service keeps blobs, as a node that died would have left it.
    pub fn leaves_file(&self, key: &str, bytes: &[u8]) {
        let path = self.blobs.join(key);
        std::fs::create_dir_all(path.parent().expect("a key has a folder")).expect("a folder can be made");
        std::fs::write(path, bytes).expect("a file can be written");
    }

    /// Every file in the folder of blobs.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let (mut files, mut folders) = (BTreeSet::new(), vec![self.blobs.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder can be read") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path);
                }
            }
        }
        files
    }
}

impl Key<'_> {
    /// Any REST request with this key.
    pub fn ask(&self, method: &str, path: &str) -> RequestBuilder {
        self.world.ask(method, &format!("/api/v1{path}")).bearer_auth(&self.text)
    }
}

impl Key<'_> {
    /// A write with an Idempotency-Key, by REST.
    pub async fn post_once(&self, name: &str, path: &str, body: &Value) -> Reply {
        Reply::of(self.ask("POST", path).header("Idempotency-Key", name).json(body)).await
    }

    /// The same by MCP: the answer, and whether it is an earlier one.
    pub async fn tool_once(
        &self,
        name: impl Into<Value>,
        tool: &str,
        arguments: Value,
    ) -> (ToolAnswer, bool) {
        let meta = json!({ "rookery/idempotencyKey": name.into() });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let reply =
            self.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
        let replayed = reply.json()["result"]["_meta"]["rookery/idempotencyReplayed"] == true;
        (ToolAnswer::of(&reply), replayed)
    }
}

/// Every table of a database with all its rows as text.
pub async fn rows_of(pool: &sqlx::PgPool) -> BTreeMap<String, Vec<String>> {
    let tables: Vec<String> = sqlx::query_scalar(
        // A partition's rows are its table's.
        "select format('%I.%I', nspname, relname) from pg_class join pg_namespace n on n.oid = relnamespace
         where relkind in ('r', 'p') and not relispartition and nspname not in ('pg_catalog', 'information_schema')
         order by 1",
    )
    .fetch_all(pool)
    .await
    .expect("the tables can be listed");
    let mut all = BTreeMap::new();
    for table in tables {
        let statement = AssertSqlSafe(format!("select row::text from {table} row order by 1"));
        let rows = sqlx::query_scalar(statement).fetch_all(pool).await.expect("rows can be read");
        all.insert(table, rows);
    }
    all
}
