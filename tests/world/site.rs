//! A site as an operator has it: a database, a folder, and real `rookery` processes.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::Duration;

use serde_json::Value;

use super::cluster::{Cluster, TestDatabase, cluster};
use super::{Reply, ports, program};

pub const SECRET_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// A database and a folder, as an operator would have them.
pub struct Site {
    pub database: TestDatabase,
    pub folder: PathBuf,
    pub http: reqwest::Client,
}

/// One `rookery serve`.
pub struct Node {
    process: Child,
    pub address: String,
    log: PathBuf,
}

impl Site {
    /// With an empty database.
    pub async fn empty() -> Self {
        Self::on(cluster()).await
    }

    /// With an empty database of another cluster.
    pub async fn on(cluster: &Cluster) -> Self {
        let database = cluster.database("template1").await;
        let folder =
            std::env::temp_dir().join(format!("rookery-site-{}-{}", cluster.port(), database.name()));
        std::fs::create_dir_all(folder.join("blobs")).unwrap();
        Self { database, folder, http: reqwest::Client::new() }
    }

    pub async fn migrated() -> Self {
        let site = Self::empty().await;
        site.migrate();
        site
    }

    pub fn migrate(&self) {
        let done = self.run(&["migrate"]);
        assert!(done.status.success(), "{done:?}");
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(&self.folder).env_clear().envs([
            ("ROOKERY_DATABASE_URL", self.database.url()),
            ("ROOKERY_BLOBS", &format!("file://{}", self.folder.join("blobs").display())),
            ("ROOKERY_SECRET_KEY", SECRET_KEY),
            ("ROOKERY_DATABASE_CONNECTIONS", "10"),
        ]);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// An admin command's JSON.
    pub fn admin(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["admin", "--json"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// A workspace with its owner: their ids.
    pub fn workspace(&self) -> (String, String) {
        let made = self.admin(&[
            "create-workspace",
            "--name",
            "Acme",
            "--plan",
            "pro",
            "--owner-email",
            "olga@acme.example",
            "--owner-name",
            "Olga Owner",
        ]);
        (text(&made, "workspace"), text(&made, "owner"))
    }

    /// An inbox of the team: its id.
    pub fn inbox(&self, workspace: &str, address: &str, name: &str) -> String {
        let named = ["--workspace", workspace, "--address", address, "--name", name];
        text(&self.admin(&[&["create-mailbox"], &named[..]].concat()), "mailbox")
    }

    /// A key with every scope: its agent's id and its text.
    pub fn key(&self, workspace: &str, maker: &str, name: &str, mode: &str) -> (String, String) {
        let made = self.admin(&[
            "create-key",
            "--workspace",
            workspace,
            "--maker",
            maker,
            "--name",
            name,
            "--scopes",
            "read,write,draft,send,record",
            "--mode",
            mode,
        ]);
        (text(&made, "agent"), text(&made, "key"))
    }

    /// Starts a node and waits until it is ready.
    pub async fn serve(&self, name: &str, settings: &[(&str, &str)]) -> Node {
        self.start(self.command(&["serve"]), name, settings).await
    }

    /// The same with at most so many files and connections open.
    pub async fn serve_with_descriptors(&self, name: &str, settings: &[(&str, &str)], most: u32) -> Node {
        let plain = self.command(&["serve"]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {most} && exec {} serve", program().display())]);
        limited.current_dir(&self.folder).env_clear();
        limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.start(limited, name, settings).await
    }

    async fn start(&self, mut command: Command, name: &str, settings: &[(&str, &str)]) -> Node {
        let listen = ports::free();
        let log = self.folder.join(format!("{name}.log"));
        let written = File::create(&log).unwrap();
        let process = command
            .env("ROOKERY_LISTEN", listen.to_string())
            .envs(settings.iter().copied())
            .stdout(written.try_clone().unwrap())
            .stderr(written)
            .spawn()
            .expect("the binary runs");
        let mut node = Node { process, address: format!("http://{listen}"), log };
        for _ in 0..300 {
            let ready = self.http.get(format!("{}/readyz", node.address)).send().await;
            if ready.is_ok_and(|answer| answer.status() == 200) {
                return node;
            }
            assert!(node.process.try_wait().unwrap().is_none(), "it ended: {}", node.log());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("it is not ready: {}", node.log());
    }

    pub async fn get(&self, node: &Node, path: &str, key: &str) -> Reply {
        Reply::of(self.http.get(format!("{}{path}", node.address)).bearer_auth(key)).await
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Node {
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kill -9: it does nothing any more, not even say goodbye.
    pub fn kill(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it has ended");
    }

    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// The exit code, when it ends in time.
    pub async fn ended(&mut self) -> Option<i32> {
        for _ in 0..100 {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("it did not end: {}", self.log());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_else(|| panic!("no {field}: {object}")).to_owned()
}

/// Waits a minute at most until a query says true.
pub async fn until(pool: &sqlx::PgPool, holds: &'static str) {
    for _ in 0..1200 {
        if sqlx::query_scalar(holds).fetch_one(pool).await.unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never came true: {holds}");
}
