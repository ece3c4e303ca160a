//! `pg_dump` and `pg_restore`, which PostgreSQL brings: where they are, which of several is the right one, and how they are
//! run. The one of the server's own version, else the next newer: an older one cannot read it, and a much newer one writes
//! what the server does not understand. A password goes by the environment, never by the command line, which everybody on
//! the machine can read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use percent_encoding::percent_decode_str;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use url::Url;

use rookery_base::error::{Error, Result};

/// Where PostgreSQL's programs of a version are: what stands before and behind its number. Debian, Red Hat, Alpine, Homebrew.
const FOLDERS: &[(&str, &str, &str)] = &[
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/usr/libexec", "postgresql", ""),
    ("/opt/homebrew/opt", "postgresql@", "bin"),
];
/// Of what they say when they fail.
const MOST_SAID: u64 = 4096;

/// A program that runs, and what it says of errors.
pub struct Running {
    pub child: Child,
    said: JoinHandle<String>,
    name: &'static str,
}

/// A program of PostgreSQL that is installed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    pub version: u32,
    pub file: PathBuf,
}

/// The program for a server of this version.
pub async fn choose(name: &'static str, wanted: u32) -> Result<Program> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    pick(name, wanted, installed(FOLDERS, name, &path).await)
}

fn pick(name: &str, wanted: u32, mut installed: Vec<Program>) -> Result<Program> {
    installed.sort();
    let newest = installed.last().cloned();
    // Sorted: the very version first, then the next newer.
    if let Some(right) = installed.into_iter().find(|program| program.version >= wanted) {
        return Ok(right);
    }
    let found = match newest {
        None => format!("{name} is not installed here"),
        Some(Program { version, file }) => {
            format!("{} is of version {version}, and {wanted} or newer is needed", file.display())
        }
    };
    Err(Error::internal(format!(
        "{found}. Install PostgreSQL's programs of that version: apt install postgresql-client-{wanted} — the container image has \
         none, see docs/backup.md, \"In containers\"."
    )))
}

/// Those in folders of a version, and those that PATH leads to.
async fn installed(folders: &[(&str, &str, &str)], name: &str, path: &OsStr) -> Vec<Program> {
    let mut found = Vec::new();
    for (folder, before, behind) in folders {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let called = entry.file_name().to_string_lossy().into_owned();
            let Some(version) = called.strip_prefix(before).and_then(|rest| rest.parse().ok()) else {
                continue;
            };
            let file = entry.path().join(behind).join(name);
            if file.is_file() {
                found.push(Program { version, file });
            }
        }
    }
    for file in std::env::split_paths(path).map(|folder| folder.join(name)).filter(|file| file.is_file()) {
        // What does not tell its version is of no use.
        if let Ok(version) = major_version(&file).await {
            found.push(Program { version, file });
        }
    }
    found
}

/// What a program says of its version: `pg_dump (PostgreSQL) 15.18 (Debian …)` is 15.
async fn major_version(program: &Path) -> Result<u32> {
    let answer = Command::new(program).arg("--version").stdin(Stdio::null()).output().await?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let number = text.split_whitespace().find_map(|word| word.split(['.', 'b', 'r']).next()?.parse().ok());
    number.ok_or_else(|| Error::internal(format!("{} does not tell its version", program.display())))
}

/// Writes the dump of a snapshot to its standard output.
pub fn dump(program: &Program, url: &str, snapshot: &str) -> Result<Running> {
    let mut command = command(program, url)?;
    command.args(["--format=custom", "--no-owner", "--no-unlogged-table-data", "--lock-wait-timeout=60000"]);
    command.arg(format!("--snapshot={snapshot}")).stdin(Stdio::null()).stdout(Stdio::piped());
    run("pg_dump", command)
}

/// Reads a dump from its standard input into a database: all of it or nothing.
pub fn restore(program: &Program, url: &str, rights: bool) -> Result<Running> {
    let mut command = command(program, url)?;
    command.args(["--single-transaction", "--exit-on-error", "--no-owner"]);
    if !rights {
        command.arg("--no-privileges");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    run("pg_restore", command)
}

fn command(program: &Program, url: &str) -> Result<Command> {
    let (plain, password) = without_password(url)?;
    let mut command = Command::new(&program.file);
    command.arg(format!("--dbname={plain}")).stderr(Stdio::piped()).kill_on_drop(true);
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    Ok(command)
}

fn run(name: &'static str, mut command: Command) -> Result<Running> {
    let mut child = command.spawn()?;
    let said = child.stderr.take().ok_or_else(|| Error::internal("a program has no standard error"))?;
    Ok(Running { child, said: tokio::spawn(listen(said)), name })
}

/// The first of it; the rest is read, so that the program does not wait.
async fn listen(mut from: ChildStderr) -> String {
    let mut said = Vec::new();
    let _ = (&mut from).take(MOST_SAID).read_to_end(&mut said).await;
    let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&said).trim().to_owned()
}

impl Running {
    /// Waits for its end; what it said is the error.
    pub async fn ended(mut self) -> Result<()> {
        let status = self.child.wait().await?;
        let said = self.said.await.unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        Err(Error::internal(format!("{} failed: {said}", self.name)))
    }
}

/// The address without its password, and without what only our own library knows.
fn without_password(url: &str) -> Result<(String, Option<String>)> {
    let unusable = |_| {
        Error::internal("The database's address cannot be used: it looks like postgres://user@host/name.")
    };
    let mut url = Url::parse(url).map_err(unusable)?;
    let mut password = url.password().map(|word| percent_decode_str(word).decode_utf8_lossy().into_owned());
    let mut kept = Vec::new();
    for (name, value) in url.query_pairs().into_owned() {
        match name.as_str() {
            "password" => password = Some(value),
            "statement-cache-capacity" => {}
            _ => kept.push((name, value)),
        }
    }
    // An address without a user has no place for a password either.
    let _ = url.set_password(None);
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
    // A form knows `+` for a space, libpq only `%20`.
    Ok((url.to_string().replace('+', "%20"), password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_servers_own_version_is_chosen_and_an_older_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["13", "15", "17", "nonsense"] {
            let bin = folder.path().join(version).join("bin");
            std::fs::create_dir_all(&bin).unwrap();
            std::fs::write(bin.join("pg_dump"), "").unwrap();
        }
        std::fs::create_dir_all(folder.path().join("18/bin")).unwrap();
        let folders = [(folder.path().to_str().unwrap(), "", "bin")];
        let all = installed(&folders, "pg_dump", OsStr::new("")).await;
        let version = |wanted| pick("pg_dump", wanted, all.clone()).map(|program| program.version);
        assert_eq!((version(13).unwrap(), version(15).unwrap(), version(14).unwrap()), (13, 15, 15));
        assert_eq!(version(16).unwrap(), 17, "the next newer");
        let refused = version(18).unwrap_err().to_string();
        assert!(
            refused.contains("17/bin/pg_dump is of version 17") && refused.contains("client-18"),
            "{refused}"
        );
        let none = pick("pg_dump", 15, Vec::new()).unwrap_err().to_string();
        assert!(none.contains("not installed"), "{none}");
    }

    #[test]
    fn a_password_is_in_no_command_line() {
        let apart = |url: &str| without_password(url).unwrap();
        assert_eq!(
            apart("postgres://me:s%40cret@db:5433/rookery?sslmode=require&statement-cache-capacity=1"),
            ("postgres://me@db:5433/rookery?sslmode=require".to_owned(), Some("s@cret".to_owned()))
        );
        assert_eq!(
            apart("postgres:///rookery?host=/run/postgresql&password=x"),
            ("postgres:///rookery?host=%2Frun%2Fpostgresql".to_owned(), Some("x".to_owned()))
        );
        assert_eq!(apart("postgres://me@db/x").1, None);
    }
}
