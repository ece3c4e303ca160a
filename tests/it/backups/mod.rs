//! Backups as an operator makes and restores them, with the real binary: round trips, what is found, what is refused, what
//! a kill leaves behind.

mod documented;
mod erased;
mod hostile;
mod killed;
mod million;
mod restored;
mod spoilt;
mod whole;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use rookery_world::canary::CANARY;
use rookery_world::cluster::{Cluster, TestDatabase, cluster};
use rookery_world::site::{SECRET_KEY, Site};

const BACKUP_KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// A site with some mail, and where its backups go.
struct Backed {
    site: Site,
    workspace: String,
    owner: String,
    inbox: String,
}

impl Backed {
    async fn start() -> Self {
        Self::on(cluster()).await
    }

    async fn on(cluster: &Cluster) -> Self {
        let site = Site::on(cluster).await;
        site.migrate();
        let (workspace, owner) = site.workspace();
        let inbox = site.inbox(&workspace, "help@acme.example", "Help");
        let backed = Self { site, workspace, owner, inbox };
        backed.mail("one", 40_000);
        backed
    }

    /// Mail with a file of so many lines, from somebody with the canary's name.
    fn mail(&self, name: &str, lines: usize) {
        let file = self.site.folder.join(format!("{name}.eml"));
        let filler = format!("A line of the file {name}.\r\n").repeat(lines);
        let mail = format!(
            "Message-ID: <{name}@customer.example>\r\nFrom: Ada {CANARY} <{name}@{CANARY}.example>\r\nTo: help@acme.example\r\n\
             Subject: About {name}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
             --b\r\nContent-Type: text/plain\r\n\r\nI am {CANARY}.\r\n--b\r\nContent-Type: text/plain\r\n\
             Content-Disposition: attachment; filename=\"{name}.txt\"\r\n\r\n{CANARY}\r\n{filler}\r\n--b--\r\n"
        );
        std::fs::write(&file, mail).unwrap();
        let path = file.to_str().unwrap();
        self.site.admin(&["import-mail", "--workspace", &self.workspace, "--mailbox", &self.inbox, path]);
        std::fs::remove_file(&file).unwrap();
    }

    fn folder(&self) -> PathBuf {
        self.site.folder.join("backups")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.site.command(&[&["backup", "--json"], arguments].concat());
        command.env("ROOKERY_BACKUPS", self.folder()).env("ROOKERY_BACKUP_KEY", BACKUP_KEY);
        // pg_dump is found by it where it is not in PostgreSQL's own folder.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// What a command says; it has to succeed.
    fn backup(&self, arguments: &[&str]) -> Value {
        let done = self.command(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// What a command complains of; it has to fail.
    fn refused(&self, arguments: &[&str]) -> String {
        complaint(self.command(arguments).output().unwrap())
    }

    fn create(&self) -> String {
        self.backup(&["create"])["backup"]["name"].as_str().unwrap().to_owned()
    }
}

/// An empty database and an empty folder, on a machine that has only the backups and the keys.
struct Fresh {
    database: TestDatabase,
    blobs: PathBuf,
}

impl Fresh {
    async fn beside(backed: &Backed) -> Self {
        Self::on(cluster(), backed).await
    }

    async fn on(cluster: &Cluster, backed: &Backed) -> Self {
        let database = cluster.database("template0").await;
        let blobs = backed.site.folder.join(format!("blobs-{}", database.name()));
        Self { database, blobs }
    }

    fn command(&self, backed: &Backed, arguments: &[&str]) -> Command {
        let mut command = backed.command(arguments);
        command.env("ROOKERY_DATABASE_URL", self.database.url());
        command.env("ROOKERY_BLOBS", format!("file://{}", self.blobs.display()));
        command
    }

    fn restore(&self, backed: &Backed, arguments: &[&str]) -> Value {
        let done = self.command(backed, &[&["restore"], arguments].concat()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        serde_json::from_slice(&done.stdout).unwrap()
    }
}

fn complaint(done: Output) -> String {
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let said = String::from_utf8(done.stderr).unwrap();
    for secret in [BACKUP_KEY, SECRET_KEY] {
        assert!(!said.contains(secret), "{said}");
    }
    said
}

/// All rows of all tables, but for those that a restore may leave empty or adds to.
async fn rows(url: &str) -> BTreeMap<String, Vec<String>> {
    let mut conn = PgConnection::connect(url).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "select quote_ident(schemaname) || '.' || quote_ident(tablename) from pg_tables
         where schemaname in ('public', 'directory') and tablename <> 'rate_blocks' order by 1",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    let mut all = BTreeMap::new();
    for table in tables {
        let reading = format!("select t::text from {table} t order by 1");
        let rows: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(reading)).fetch_all(&mut conn).await.unwrap();
        all.insert(table, rows);
    }
    conn.close().await.unwrap();
    all
}

/// The files below a folder with what is in them.
fn files(folder: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let found = Command::new("find").arg(".").args(["-type", "f"]).current_dir(folder).output().unwrap();
    let names = String::from_utf8(found.stdout).unwrap();
    names.lines().map(|name| (name.to_owned(), std::fs::read(folder.join(name)).unwrap())).collect()
}
