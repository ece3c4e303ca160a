//! `pg_dump` and `pg_restore`, which PostgreSQL brings: where they are, and how they are run. A password goes by the
//! environment, never by the command line, which everybody on the machine can read.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use percent_encoding::percent_decode_str;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use url::Url;

use crate::error::{Error, Result};

/// Where Debian and others put PostgreSQL's programs, the newest first, before PATH.
const FOLDERS: &[&str] =
    &["/usr/lib/postgresql", "/usr/pgsql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql"];
/// Of what they say when they fail.
const MOST_SAID: u64 = 4096;

/// A program that runs, and what it says of errors.
pub struct Running {
    pub child: Child,
    said: JoinHandle<String>,
    name: &'static str,
}

/// Where a program of PostgreSQL is: the newest that is installed, else whatever PATH leads to.
pub fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let installed = versions.into_iter().rev().map(|(_, folder)| folder);
    installed.chain(std::env::split_paths(path)).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// PATH, which is no setting of ours.
pub fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

fn located(name: &'static str) -> Result<PathBuf> {
    find(name, &path()).ok_or_else(|| {
        Error::internal(format!(
            "{name} is not installed here. Install PostgreSQL's programs: apt install postgresql-client"
        ))
    })
}

/// What a program says of its version: `pg_dump (PostgreSQL) 15.18 (Debian …)` is 15.
pub async fn major_version(program: &Path) -> Result<u32> {
    let answer = Command::new(program).arg("--version").stdin(Stdio::null()).output().await?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let number = text.split_whitespace().find_map(|word| word.split(['.', 'b', 'r']).next()?.parse().ok());
    number.ok_or_else(|| Error::internal(format!("{} does not tell its version", program.display())))
}

/// Writes the dump of a snapshot to its standard output.
pub fn dump(url: &str, snapshot: &str) -> Result<Running> {
    let mut command = command("pg_dump", url)?;
    command.args(["--format=custom", "--no-owner", "--no-unlogged-table-data", "--lock-wait-timeout=60000"]);
    command.arg(format!("--snapshot={snapshot}")).stdin(Stdio::null()).stdout(Stdio::piped());
    run("pg_dump", command)
}

/// Reads a dump from its standard input into a database: all of it or nothing.
pub fn restore(url: &str, rights: bool) -> Result<Running> {
    let mut command = command("pg_restore", url)?;
    command.args(["--single-transaction", "--exit-on-error", "--no-owner"]);
    if !rights {
        command.arg("--no-privileges");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    run("pg_restore", command)
}

fn command(name: &'static str, url: &str) -> Result<Command> {
    let (plain, password) = without_password(url)?;
    let mut command = Command::new(located(name)?);
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
