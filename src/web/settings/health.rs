//! `/settings/health`: the last examination of the server (`rookery doctor`), for owners, who can ask for another one. Where
//! several workspaces share a server, its inside is the operator's: an owner then sees what is wrong, and not how.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::doctor::examine::{area, examine};
use crate::doctor::given::Given;
use crate::doctor::kept::{self, Kept};
use crate::doctor::row::Row;
use crate::error::Result;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

const PATH: &str = "/settings/health";

#[derive(Template)]
#[template(path = "settings/health.html")]
struct HealthPage {
    shell: Shell,
    page: &'static str,
    looked: Option<DateTime<Utc>>,
    wrong: Vec<Shown>,
    /// How many are right, and which, by what they are about.
    right: usize,
    areas: Vec<(&'static str, Vec<Shown>)>,
    changed: Vec<String>,
    /// Other workspaces are on this server.
    is_shared: bool,
}

/// A row as people read it.
struct Shown {
    title: String,
    row: Row,
    fix: Vec<Part>,
}

/// A part of the sentence that says what mends it: words, a name in them, or a command on a line of its own.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Words(String),
    Name(String),
    /// With the id that it is copied by.
    Command(String, String),
}

impl Shown {
    fn of(row: Row) -> Self {
        Self { title: title(&row.name), fix: parts(&row), row }
    }
}

/// `wal-archiving` is "WAL archiving", `dkim acme.example` "DKIM of acme.example".
fn title(name: &str) -> String {
    let (kind, domain) = name.split_once(' ').unwrap_or((name, ""));
    let words: Vec<String> = kind
        .split('-')
        .enumerate()
        .map(|(place, word)| match (place, word) {
            (_, "smtp" | "lmtp" | "starttls" | "https" | "dkim" | "spf" | "dmarc" | "mx" | "wal") => {
                word.to_uppercase()
            }
            (0, word) => {
                word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect()
            }
            (_, word) => word.to_owned(),
        })
        .collect();
    let title = words.join(" ");
    if domain.is_empty() { title } else { format!("{title} of {domain}") }
}

/// Code stands between backticks; it is a command where the words before it lead to one.
fn parts(row: &Row) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut leads = false;
    for (place, text) in row.fix.split('`').enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        parts.push(match (place % 2, leads) {
            (0, _) => Part::Words(text.to_owned()),
            (_, false) => Part::Name(text.to_owned()),
            (_, true) => Part::Command(format!("{}-{place}", row.name.replace(' ', "-")), text.to_owned()),
        });
        leads = text.trim_end().ends_with([':', '?']);
    }
    parts
}

/// Those that are right, by what they are about, in their order.
fn by_area(rows: Vec<Row>) -> Vec<(&'static str, Vec<Shown>)> {
    let mut areas: Vec<(&'static str, Vec<Shown>)> = Vec::new();
    for row in rows {
        let area = area(row.kind());
        match areas.last_mut() {
            Some((last, rows)) if *last == area => rows.push(Shown::of(row)),
            _ => areas.push((area, vec![Shown::of(row)])),
        }
    }
    areas
}

pub async fn show(asked: Asked) -> Result<Response> {
    let workspaces =
        sqlx::query_scalar!(r#"select count(*) as "n!" from (select from workspaces limit 2) few"#)
            .fetch_one(&mut *asked.reading().await?)
            .await?;
    let (is_shared, own) = (workspaces > 1, asked.person.workspace.to_string());
    let kept = kept::last(asked.app()).await;
    let looked = kept.as_ref().and_then(|kept| kept.report.at.parse().ok());
    let Kept { report, changed } = kept.unwrap_or_default();
    let foreign: Vec<String> = report
        .rows
        .iter()
        .filter(|row| row.workspace.as_ref().is_some_and(|workspace| *workspace != own))
        .map(|row| row.name.clone())
        .collect();
    let changed =
        changed.into_iter().filter(|(name, _)| !(foreign.contains(name) || is_shared && name.contains(' ')));
    let changed = changed.map(|(_, sentence)| sentence).collect();
    let rows = report
        .rows
        .into_iter()
        .filter(|row| row.workspace.as_ref().is_none_or(|workspace| *workspace == own));
    let rows = rows.map(|row| if is_shared && row.workspace.is_none() { outside_of(row) } else { row });
    let (right, wrong): (Vec<Row>, Vec<Row>) = rows.partition(|row| row.ok);
    let wrong = wrong.into_iter().map(Shown::of).collect();
    let (right, areas) = (right.len(), by_area(right));
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&HealthPage { shell, page: PATH, looked, wrong, right, areas, changed, is_shared })
}

/// What somebody may know who does not run the server.
fn outside_of(row: Row) -> Row {
    Row { found: String::new(), fix: String::new(), ..row }
}

/// `POST /settings/health`: takes some seconds, most of it name servers.
pub async fn look(asked: Asked) -> Result<Response> {
    let app = asked.app().clone();
    let report = examine(&app, &Given::default()).await;
    let done = if report.wrong() == 0 { Done::HealthRight } else { Done::HealthWrong };
    // Where nothing can be kept, the page says so: its first row is the store.
    if let Err(error) = kept::keep(&app, report).await {
        tracing::warn!(%error, "the examination cannot be kept");
    }
    Ok(respond::see_other_with(PATH, Toast::new(done, "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::row::wrong;

    #[test]
    fn names_are_told_as_people_say_them() {
        assert_eq!(title("wal-archiving"), "WAL archiving");
        assert_eq!(title("public-https"), "Public HTTPS");
        assert_eq!(title("dkim acme.example"), "DKIM of acme.example");
        assert_eq!(title(""), "");
    }

    #[test]
    fn a_command_stands_apart_from_the_words_that_lead_to_it() {
        let fix = "Set `ROOKERY_BACKUPS`, then: `systemctl start x` Why not? `journalctl`";
        let found = parts(&Row::new("backup", "", wrong("", fix)));
        let words = |text: &str| Part::Words(text.to_owned());
        let command = |id: &str, text: &str| Part::Command(id.to_owned(), text.to_owned());
        assert_eq!(
            found,
            [
                words("Set "),
                Part::Name("ROOKERY_BACKUPS".to_owned()),
                words(", then: "),
                command("backup-3", "systemctl start x"),
                words(" Why not? "),
                command("backup-5", "journalctl"),
            ]
        );
    }
}
