//! Asking as no well-behaved client does, of every operation there is, and looking at every row there is.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder};
use rookery::api::registry::{Entry, OPERATIONS};
use sqlx::AssertSqlSafe;

use super::{Key, World};

/// An id that nothing has.
pub const NOBODY: &str = "cnv_0000000000000";

/// Every operation with its path, below the REST prefix, where an id in the path is `id`.
pub fn operations(id: &str) -> impl Iterator<Item = (&'static Entry, String)> {
    OPERATIONS.iter().map(move |entry| (entry, entry.spec.path.replace("{id}", id)))
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

    pub async fn sql(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.app.pool).await.expect(statement);
    }

    /// Every table with all its rows as text, except the rate limit's own.
    pub async fn rows(&self) -> BTreeMap<String, Vec<String>> {
        let mut rows = rows_of(&self.app.pool).await;
        rows.remove("public.rate_blocks").expect("the rate limit has a table");
        rows
    }
}

impl Key<'_> {
    /// Any REST request with this key.
    pub fn ask(&self, method: &str, path: &str) -> RequestBuilder {
        self.world.ask(method, &format!("/api/v1{path}")).bearer_auth(&self.text)
    }
}

/// Every table of a database with all its rows as text.
pub async fn rows_of(pool: &sqlx::PgPool) -> BTreeMap<String, Vec<String>> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select format('%I.%I', table_schema, table_name) from information_schema.tables
         where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')",
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
