//! A fleet as an operator has it: two databases, `main` and `west`, each on a server of its own, and real nodes that
//! serve one of them or both.

use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::secret::Secret;
use rookery_base::store::directory::Directory;
use rookery_upkeep::moves::Side;
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool};

use rookery_world::cluster::{Cluster, Settings, TestDatabase};
use rookery_world::site::{Node, Site, text};

/// Servers that can replicate, one for each cell. Apart from the one of all other tests, because a slot waits for every
/// transaction of its server.
fn servers() -> &'static [Cluster; 2] {
    static SERVERS: OnceLock<[Cluster; 2]> = OnceLock::new();
    SERVERS.get_or_init(|| {
        let more = &[
            "wal_level = logical",
            "max_replication_slots = 20",
            "max_wal_senders = 20",
            // Each move that is under way takes three, and stories run side by side.
            "max_worker_processes = 24",
            "max_logical_replication_workers = 16",
        ];
        [(); 2].map(|()| Cluster::start(&Settings { more, ..Settings::test() }))
    })
}

pub struct Fleet {
    pub site: Site,
    pub west: TestDatabase,
}

/// Which cells a node serves, the first as its own.
#[derive(Clone, Copy)]
pub enum Serves {
    Main,
    West,
    Both,
}

impl Fleet {
    /// Both cells migrated and known.
    pub async fn new() -> Self {
        let [main, west] = servers();
        let site = Site::on(main).await;
        let west = west.database("template1").await;
        let fleet = Self { site, west };
        for arguments in [&["migrate"][..], &["cells", "add", "west"]] {
            let done = fleet.run(arguments);
            assert!(done.status.success(), "{arguments:?}: {done:?}");
        }
        fleet
    }

    fn settings(&self, serves: Serves) -> Vec<(String, String)> {
        let (main, west) = (self.site.database.url(), self.west.url());
        let mut settings = vec![
            ("ROOKERY_CELL_OWNERS".into(), format!("main={main} west={west}")),
            ("ROOKERY_DIRECTORY_URL".into(), main.to_owned()),
            ("ROOKERY_RATE_LIMIT_REQUESTS".into(), "100000".into()),
            ("ROOKERY_SANDBOX_INBOUND_LIMIT".into(), "100000".into()),
        ];
        let own: [(&str, &str); 2] = match serves {
            Serves::Main | Serves::Both => [("ROOKERY_CELL", "main"), ("ROOKERY_DATABASE_URL", main)],
            Serves::West => [("ROOKERY_CELL", "west"), ("ROOKERY_DATABASE_URL", west)],
        };
        settings.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        if matches!(serves, Serves::Both) {
            settings.push(("ROOKERY_CELLS".into(), format!("west={west}")));
        }
        settings
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.site.command(arguments);
        command.envs(self.settings(Serves::Both));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    pub fn admin(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["admin", "--json"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A command that is still running.
    pub fn begin(&self, arguments: &[&str]) -> std::process::Child {
        self.command(arguments).stdout(Stdio::piped()).spawn().expect("the binary runs")
    }

    /// A workspace with its owner and keys of every scope, live and test.
    pub fn workspace(&self, name: &str) -> Tenant {
        let made = self.admin(&[
            "create-workspace",
            "--name",
            name,
            "--plan",
            "pro",
            "--owner-email",
            &format!("olga@{}.example", name.to_lowercase()),
            "--owner-name",
            "Olga Owner",
        ]);
        let (id, owner) = (text(&made, "workspace"), text(&made, "owner"));
        let key = |mode: &str| {
            let made = self.admin(&[
                "create-key",
                "--workspace",
                &id,
                "--maker",
                &owner,
                "--name",
                mode,
                "--scopes",
                "read,write,draft,send,record",
                "--mode",
                mode,
            ]);
            text(&made, "key")
        };
        Tenant { live: key("live"), test: key("test"), id, owner }
    }

    pub async fn serve(&self, name: &str, serves: Serves, more: &[(&str, &str)]) -> Node {
        let settings = self.settings(serves);
        let mut settings: Vec<(&str, &str)> =
            settings.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        settings.extend(more);
        self.site.serve(name, &settings).await
    }

    pub fn url(&self, cell: &str) -> &str {
        if cell == "main" { self.site.database.url() } else { self.west.url() }
    }

    pub async fn pool(&self, cell: &str) -> PgPool {
        PgPool::connect(self.url(cell)).await.expect("the cell can be reached")
    }

    pub async fn directory(&self) -> Directory {
        Directory::new(self.pool("main").await)
    }

    pub async fn side(&self, cell: &str) -> Side {
        Side::connect(cell, &Secret(self.url(cell).to_owned())).await.expect("the cell can be reached")
    }

    pub async fn run_sql(&self, cell: &str, statements: impl Into<String>) {
        sqlx::raw_sql(AssertSqlSafe(statements.into())).execute(&self.pool(cell).await).await.unwrap();
    }

    /// All rows that a cell has of a workspace are kept as a backup would.
    pub async fn back_up(&self, cell: &str, tenant: &Tenant) {
        let mut statements = vec![format!(
            "begin isolation level repeatable read; drop schema if exists backed_up cascade; create schema backed_up;
             create table backed_up.workspaces as select * from workspaces where id = {}",
            tenant.number()
        )];
        for table in self.tables(cell).await {
            let of = tenant.number();
            statements.push(format!(
                "create table backed_up.{table} as select * from {table} where workspace_id = {of}"
            ));
        }
        statements.push("commit".to_owned());
        self.run_sql(cell, statements.join(";")).await;
    }

    /// They come back, whatever has happened since.
    pub async fn restore(&self, cell: &str) {
        let mut statements = vec!["set session_replication_role = replica".to_owned()];
        let pool = self.pool(cell).await;
        for table in ["workspaces".to_owned()].into_iter().chain(self.tables(cell).await) {
            let columns: String = sqlx::query_scalar(
                "select string_agg(format('%I', attname), ', ' order by attnum) from pg_attribute
                 where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''",
            )
            .bind(&table)
            .fetch_one(&pool)
            .await
            .unwrap();
            statements
                .push(format!("insert into {table} ({columns}) overriding system value select {columns} from backed_up.{table}"));
        }
        self.run_sql(cell, statements.join(";")).await;
    }

    /// Where the directory says a workspace lives.
    pub async fn lives_in(&self, tenant: &Tenant) -> String {
        let pool = self.pool("main").await;
        let number = tenant.number();
        sqlx::query_scalar("select cell from directory.workspaces where id = $1")
            .bind(number)
            .fetch_one(&pool)
            .await
            .expect("the directory knows it")
    }

    /// Those with rows of workspaces.
    async fn tables(&self, cell: &str) -> Vec<String> {
        sqlx::query_scalar(
            "select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and attname = 'workspace_id'
             where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition",
        )
        .fetch_all(&self.pool(cell).await)
        .await
        .unwrap()
    }

    /// How many rows of a workspace a cell has, in all its tables.
    pub async fn rows(&self, cell: &str, tenant: &Tenant) -> i64 {
        let pool = self.pool(cell).await;
        let mut rows = 0;
        for table in self.tables(cell).await {
            let count = format!("select count(*) from {table} where workspace_id = {}", tenant.number());
            rows += sqlx::query_scalar::<_, i64>(AssertSqlSafe(count)).fetch_one(&pool).await.unwrap();
        }
        rows
    }
}

pub struct Tenant {
    pub id: String,
    pub owner: String,
    pub live: String,
    pub test: String,
}

impl Tenant {
    pub fn workspace(&self) -> WorkspaceId {
        self.id.parse().expect("an id")
    }

    pub fn number(&self) -> i64 {
        self.workspace().0
    }
}
