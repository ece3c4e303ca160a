//! A throw-away PostgreSQL cluster inside the test process: own folder, own port, own settings.
//! A watchdog child starts it and reads from a pipe that only this process holds; when the process
//! ends, in whatever way, the pipe closes and the watchdog stops the server and removes the folder.
//! Knows nothing of the product.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

/// The database every test copies. [`Cluster::template`] makes it.
pub const TEMPLATE: &str = "rookery_template";

/// The cluster of this test run. The first caller starts it, the others wait.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(&Settings::test()))
}

/// What differs between a cluster for tests and one for measurements.
pub struct Settings {
    /// Writes reach the disk before a commit answers, as in production.
    pub durable: bool,
    /// Prefer a folder in memory when there is room.
    pub in_memory: bool,
    pub shared_buffers: &'static str,
    /// A folder that stays when the process ends and serves again; else a fresh one that is removed.
    pub keep: Option<PathBuf>,
    /// More lines for postgresql.conf, each `name = value`.
    pub more: &'static [&'static str],
}

impl Settings {
    pub fn test() -> Settings {
        Settings { durable: false, in_memory: true, shared_buffers: "128MB", keep: None, more: &[] }
    }

    pub fn bench() -> Settings {
        Settings {
            durable: true,
            in_memory: false,
            shared_buffers: "4GB",
            keep: None,
            more: &[
                "effective_cache_size = 6GB",
                "maintenance_work_mem = 512MB",
                "max_wal_size = 8GB",
                "checkpoint_timeout = 30min",
                "random_page_cost = 1.1",
                "track_io_timing = on",
            ],
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = [
            "listen_addresses = '127.0.0.1'",
            "max_connections = 300",
            "jit = off",
            "autovacuum = on",
            "timezone = 'UTC'",
            "log_timezone = 'UTC'",
            "log_min_messages = warning",
        ]
        .map(String::from)
        .into();
        let durable = if self.durable { "on" } else { "off" };
        for name in ["fsync", "full_page_writes", "synchronous_commit"] {
            lines.push(format!("{name} = {durable}"));
        }
        lines.push(format!("shared_buffers = {}", self.shared_buffers));
        lines.extend(self.more.iter().map(|line| line.to_string()));
        lines
    }
}

pub struct Cluster {
    port: u16,
    folder: PathBuf,
    template: OnceCell<()>,
    next_database: AtomicU32,
    /// Names of databases to drop, read by the janitor thread.
    dropped: mpsc::Sender<String>,
    /// Holds the only write end of the watchdog's pipe. Never read, never waited for.
    _watchdog: Child,
}

impl Cluster {
    /// Starts a cluster and waits until it takes connections. Panics with the server's words if it cannot.
    pub fn start(settings: &Settings) -> Cluster {
        let mut watchdog = watchdog(settings);
        let mut answer = String::new();
        BufReader::new(watchdog.stdout.take().expect("stdout is piped"))
            .read_line(&mut answer)
            .expect("read the watchdog's answer");
        let Some((port, folder)) = answer.trim_end().split_once(' ') else {
            panic!("PostgreSQL did not start; its messages stand above");
        };
        let port = port.parse().expect("the watchdog prints port and folder");
        let (dropped, names) = mpsc::channel();
        let admin = url(port, "postgres");
        std::thread::spawn(move || drop_databases(&admin, &names));
        Cluster {
            port,
            folder: folder.into(),
            template: OnceCell::new(),
            next_database: AtomicU32::new(1),
            dropped,
            _watchdog: watchdog,
        }
    }

    pub fn url(&self, database: &str) -> String {
        url(self.port, database)
    }

    /// The same through the Unix socket, as a server and its database on one machine would talk.
    pub fn socket_url(&self, database: &str) -> String {
        format!("postgres://postgres@localhost:{}/{database}?host={}", self.port, self.folder.display())
    }

    /// For statements on the cluster itself: making and dropping databases.
    pub fn admin_url(&self) -> String {
        self.url("postgres")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder with the data, the Unix socket and `server.log`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes [`TEMPLATE`] once per run: an empty database, handed by its URL to `fill` (the product's
    /// migrations). `fill` must close its connections. Returns the template's name.
    pub async fn template<F>(&self, fill: impl FnOnce(String) -> F) -> &'static str
    where
        F: Future<Output = ()>,
    {
        self.template
            .get_or_init(async || {
                // A test that panicked half way through `fill` may have left one behind.
                self.admin(&format!("drop database if exists {TEMPLATE} with (force)")).await;
                self.admin(&format!("create database {TEMPLATE}")).await;
                fill(self.url(TEMPLATE)).await;
                // PostgreSQL refuses to copy a database while somebody is connected to it.
                self.admin(&format!("alter database {TEMPLATE} with allow_connections false")).await;
            })
            .await;
        TEMPLATE
    }

    /// A fresh copy of `template` (`template1` for an empty database), dropped with the value.
    pub async fn database(&self, template: &str) -> TestDatabase {
        let number = self.next_database.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        self.admin(&format!("create database {name} template {template} strategy file_copy")).await;
        TestDatabase { url: self.url(&name), name, dropped: self.dropped.clone() }
    }

    /// Crashes the server and starts it again on the same port and data.
    pub fn crash_and_restart(&self) {
        let mut command = Command::new(server_binaries().join("pg_ctl"));
        command
            .args(["restart", "-m", "immediate", "-w", "-t", "60", "-D"])
            .arg(self.folder.join("data"))
            .arg("-l")
            .arg(self.folder.join("server.log"))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        as_postgres(&mut command, None);
        assert!(command.status().expect("pg_ctl runs").success(), "the server did not come back");
    }

    async fn admin(&self, statement: &str) {
        let mut connection = PgConnection::connect(&self.admin_url()).await.expect("connect to the cluster");
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
        connection.close().await.expect("close the connection");
    }
}

/// One test's own database. Dropping it drops the database, even with connections still open.
pub struct TestDatabase {
    name: String,
    url: String,
    dropped: mpsc::Sender<String>,
}

impl TestDatabase {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // The janitor may be gone at the end of the process; then the whole folder goes.
        let _ = self.dropped.send(std::mem::take(&mut self.name));
    }
}

fn url(port: u16, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{database}")
}

/// The janitor: `Drop` cannot wait, so one thread with its own runtime drops databases in the background.
fn drop_databases(admin_url: &str, names: &mpsc::Receiver<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime for the janitor");
    for name in names {
        let statement = format!("drop database if exists {name} with (force)");
        let done = runtime.block_on(async {
            let mut connection = PgConnection::connect(admin_url).await?;
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
            connection.close().await
        });
        if let Err(error) = done {
            eprintln!("dropping {name}: {error}");
        }
    }
}

/// Arguments: folder of the server binaries, a list of ports to try, the settings, the folder to keep (or
/// nothing), then folders to try.
/// Prints `port folder` when the server is ready, then blocks until the pipe closes.
const WATCHDOG: &str = r#"
bin=$1 ports=$2 settings=$3 keep=$4; shift 4
cd /
umask 077
folder=$keep
[ -n "$folder" ] || for base in "$@"; do
    folder=$(mktemp -d "$base/rookery-pg-XXXXXX" 2>/dev/null) && break
done
[ -n "$folder" ] || { echo "no folder to put a cluster in: $*" >&2; exit 1; }
trap : INT TERM HUP
clean_up() {
    if [ -n "$keep" ]; then
        "$bin/pg_ctl" stop -D "$folder/data" -m fast >/dev/null 2>&1
    else
        "$bin/pg_ctl" stop -D "$folder/data" -m immediate >/dev/null 2>&1
        rm -rf "$folder"
    fi
}
trap clean_up EXIT
[ -e "$folder/data/PG_VERSION" ] ||
    "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync \
        >"$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; exit 1; }
printf '%s\n' "$settings" "unix_socket_directories = '$folder'" >"$folder/data/postgresql.auto.conf"
for port in $ports; do
    if "$bin/pg_ctl" start -w -t 60 -D "$folder/data" -l "$folder/server.log" -o "-p $port" \
        </dev/null >/dev/null 2>&1
    then
        echo "$port $folder"
        exec >/dev/null
        while read -r _; do :; done
        exit 0
    fi
done
cat "$folder/server.log" >&2
exit 1
"#;

fn watchdog(settings: &Settings) -> Child {
    let ports: Vec<String> = (0..5).map(|_| free_port().to_string()).collect();
    // The watchdog works from the root folder.
    let keep = settings.keep.as_ref().map(|folder| std::path::absolute(folder).expect("a folder's name"));
    if let Some(folder) = &keep {
        std::fs::create_dir_all(folder).expect("the folder to keep can be made");
    }
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(WATCHDOG)
        .arg("watchdog")
        .arg(server_binaries())
        .arg(ports.join(" "))
        .arg(settings.lines().join("\n"))
        .arg(keep.clone().unwrap_or_default())
        .args(folders(settings))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Ctrl-C goes to the whole process group; the watchdog must outlive it.
        .process_group(0);
    as_postgres(&mut command, keep.as_deref());
    command.spawn().expect("start sh")
}

/// PostgreSQL refuses to run as root; the folder to keep is then given to its user.
fn as_postgres(command: &mut Command, keep: Option<&Path>) {
    if number_from("id", &["-u"]) != Some(0) {
        return;
    }
    let user = number_from("id", &["-u", "postgres"]);
    let group = number_from("id", &["-g", "postgres"]);
    let user = user.expect("as root, a user `postgres` must exist");
    let group = group.expect("the user `postgres` has a group");
    if let Some(folder) = keep {
        std::os::unix::fs::chown(folder, Some(user), Some(group)).expect("the folder can be given away");
    }
    command.uid(user).gid(group);
}

/// Another process may take the port before the server does, so the watchdog gets several.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

fn folders(settings: &Settings) -> Vec<OsString> {
    let mut folders = Vec::new();
    if settings.in_memory && free_kilobytes("/dev/shm").is_some_and(|free| free > 1024 * 1024) {
        folders.push("/dev/shm".into());
    }
    folders.push(std::env::temp_dir().into());
    folders.push("/tmp".into());
    folders
}

fn free_kilobytes(folder: &str) -> Option<u64> {
    let table = stdout_of("df", &["-Pk", folder])?;
    table.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

/// `pg_config`, else the newest of Debian's folders, else whatever PATH leads to.
fn server_binaries() -> PathBuf {
    let asked = stdout_of("pg_config", &["--bindir"]).map(|line| PathBuf::from(line.trim()));
    let mut debian: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    asked
        .into_iter()
        .chain(debian.into_iter().rev().map(|(_, folder)| folder))
        .chain(std::env::split_paths(&path))
        // A machine may have the client's pg_config without the server.
        .find(|folder| folder.join("initdb").exists() && folder.join("pg_ctl").exists())
        .expect("PostgreSQL's server binaries (initdb, pg_ctl) are needed for the tests")
}

fn stdout_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

fn number_from(program: &str, arguments: &[&str]) -> Option<u32> {
    stdout_of(program, arguments)?.trim().parse().ok()
}
