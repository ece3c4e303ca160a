//! `/settings/health`: the last examination of the server (`rookery doctor`), for owners, who can ask for another one. Where
//! several workspaces share a server, its rows are the operator's: an owner then sees those of their own domains.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_upkeep::doctor::examine::{area, examine, examine_workspace};
use rookery_upkeep::doctor::given::Given;
use rookery_upkeep::doctor::kept::{self, Kept};
use rookery_upkeep::doctor::row::CheckRow;

const PATH: &str = "/settings/health";

#[derive(Template)]
#[template(path = "settings/health.html")]
struct HealthPage {
    shell: Shell,
    page: &'static str,
    looked: Option<DateTime<Utc>>,
    wrong: Vec<HealthRow>,
    /// How many checks passed; `areas` lists them by subject.
    right: usize,
    areas: Vec<(&'static str, Vec<HealthRow>)>,
    changed: Vec<String>,
    /// Other workspaces are on this server.
    is_shared: bool,
}

/// A check with its result, in words.
struct HealthRow {
    title: String,
    row: CheckRow,
    fix: Vec<FixPart>,
}

/// A part of the sentence that says how to mend it: words, a name in them, or a command on a line of its own.
#[derive(Debug, PartialEq, Eq)]
enum FixPart {
    Words(String),
    Name(String),
    /// The command, and the id of its element for the copy button.
    Command(String, String),
}

impl HealthRow {
    fn from_row(row: CheckRow) -> Self {
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
fn parts(row: &CheckRow) -> Vec<FixPart> {
    let mut parts = Vec::new();
    let mut leads = false;
    for (place, text) in row.fix.split('`').enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        parts.push(match (place % 2, leads) {
            (0, _) => FixPart::Words(text.to_owned()),
            (_, false) => FixPart::Name(text.to_owned()),
            (_, true) => FixPart::Command(format!("{}-{place}", row.name.replace(' ', "-")), text.to_owned()),
        });
        leads = text.trim_end().ends_with([':', '?']);
    }
    parts
}

/// The checks that passed, by subject, in their order.
fn by_area(rows: Vec<CheckRow>) -> Vec<(&'static str, Vec<HealthRow>)> {
    let mut areas: Vec<(&'static str, Vec<HealthRow>)> = Vec::new();
    for row in rows {
        let area = area(row.kind());
        match areas.last_mut() {
            Some((last, rows)) if *last == area => rows.push(HealthRow::from_row(row)),
            _ => areas.push((area, vec![HealthRow::from_row(row)])),
        }
    }
    areas
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let is_shared = is_shared(&asked).await?;
    let kept = if is_shared {
        kept::last_of(asked.app(), asked.person.workspace).await
    } else {
        kept::last(asked.app()).await
    };
    let looked = kept.as_ref().and_then(|kept| kept.report.at.parse().ok());
    let Kept { report, changed } = kept.unwrap_or_default();
    let changed = changed.into_iter().map(|(_, sentence)| sentence).collect();
    let (right, wrong): (Vec<CheckRow>, Vec<CheckRow>) = report.rows.into_iter().partition(|row| row.ok);
    let wrong = wrong.into_iter().map(HealthRow::from_row).collect();
    let (right, areas) = (right.len(), by_area(right));
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&HealthPage { shell, page: PATH, looked, wrong, right, areas, changed, is_shared })
}

/// Whether other workspaces are on this server, or on others of its fleet.
async fn is_shared(asked: &MemberRequest) -> Result<bool> {
    Ok(!asked.app().directory.is_alone().await?)
}

/// `POST /settings/health`: runs the checks, which takes some seconds because of name servers. If other workspaces share
/// the server, only what belongs to this one is checked. Whoever asks while checks run gets their result.
pub async fn run_checks(asked: MemberRequest) -> Result<Response> {
    let own = is_shared(&asked).await?.then_some(asked.person.workspace);
    let app = asked.app().clone();
    let looking = async move {
        let (wrong, kept) = match own {
            Some(workspace) => {
                let report = examine_workspace(&app, workspace).await;
                (report.wrong(), kept::keep_of(&app, workspace, report).await)
            }
            None => {
                let report = examine(&app, &Given::default()).await;
                (report.wrong(), kept::keep(&app, report).await.map(drop))
            }
        };
        // Where nothing can be kept, the page says so: its first row is the store.
        if let Err(error) = kept {
            tracing::warn!(%error, "the examination cannot be kept");
        }
        wrong
    };
    let done = match asked.web.examinations.run(own, looking).await? {
        0 => Done::HealthRight,
        _ => Done::HealthWrong,
    };
    Ok(respond::see_other_with(PATH, Toast::new(done, "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_upkeep::doctor::row::wrong;

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
        let found = parts(&CheckRow::new("backup", "", wrong("", fix)));
        let words = |text: &str| FixPart::Words(text.to_owned());
        let command = |id: &str, text: &str| FixPart::Command(id.to_owned(), text.to_owned());
        assert_eq!(
            found,
            [
                words("Set "),
                FixPart::Name("ROOKERY_BACKUPS".to_owned()),
                words(", then: "),
                command("backup-3", "systemctl start x"),
                words(" Why not? "),
                command("backup-5", "journalctl"),
            ]
        );
    }
}
