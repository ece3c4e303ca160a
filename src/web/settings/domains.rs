//! `/settings/domains`: what the DNS of a workspace's domains should say and what it says. Name servers take seconds, so the
//! page shows what was found when somebody last asked.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use similar::{ChangeTag, TextDiff};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::outgoing::domain::check::Finding;
use crate::outgoing::domain::checked::{self, Checked};
use crate::outgoing::domain::{self, Row};
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

const PATH: &str = "/settings/domains";

#[derive(Template)]
#[template(path = "settings/domains.html")]
struct DomainsPage {
    shell: Shell,
    page: &'static str,
    domains: Vec<Shown>,
    /// Domains of inboxes whose mail leaves without a signature.
    unsigned: Vec<String>,
    typed: String,
    problem: Option<String>,
}

/// A domain with its rows, as they should be and as they are.
pub struct Shown {
    pub name: String,
    pub anchor: String,
    pub checked_at: Option<DateTime<Utc>>,
    pub wrong: usize,
    pub rows: Vec<ShownRow>,
    pub zone: String,
}

impl Shown {
    /// Every row was found as it should be.
    pub fn is_right(&self) -> bool {
        self.checked_at.is_some() && self.rows.iter().all(ShownRow::is_right)
    }
}

pub struct ShownRow {
    pub row: Row,
    /// For the button that copies it.
    pub anchor: String,
    pub finding: Option<Finding>,
    pub wanted: Vec<Word>,
    pub found: Vec<Word>,
}

impl ShownRow {
    pub fn is_right(&self) -> bool {
        self.finding.as_ref().is_some_and(|finding| finding.ok)
    }
}

/// A word of a row; `mark` says that it is to be added or taken away.
pub struct Word {
    pub text: String,
    pub mark: bool,
}

pub async fn show(asked: Asked) -> Result<Response> {
    respond::page(&page(&asked, String::new(), None).await?)
}

async fn page(asked: &Asked, typed: String, problem: Option<String>) -> Result<DomainsPage> {
    let mut conn = asked.reading().await?;
    let workspace = asked.person.workspace;
    let listed = checked::list(&mut conn, workspace).await?;
    let domains = listed.into_iter().map(|one| shown(&asked.visit.app().config, one)).collect();
    let unsigned = checked::unsigned(&mut conn, workspace).await?;
    let shell = Shell::frame(asked, Here::Settings);
    Ok(DomainsPage { shell, page: PATH, domains, unsigned, typed, problem })
}

pub fn shown(config: &Config, one: Checked) -> Shown {
    let Checked { domain, checked_at, findings } = one;
    let rows = domain.rows(config);
    let zone = rows.iter().map(|row| row.zone.as_str()).collect::<Vec<_>>().join("\n");
    let wrong = findings.iter().filter(|finding| !finding.ok).count();
    let rows = rows.into_iter().map(|row| {
        let finding = findings.iter().find(|finding| finding.purpose == row.purpose).cloned();
        let wanted = match &finding {
            Some(finding) if !finding.wanted.is_empty() => &finding.wanted,
            _ => &row.value,
        };
        let found = finding.as_ref().map(|finding| finding.found.join("\n")).unwrap_or_default();
        let (wanted, found) = compared(wanted, &found);
        let anchor = format!("{}-{}", row.purpose.to_lowercase(), anchor(&domain.name));
        ShownRow { row, anchor, finding, wanted, found }
    });
    Shown { rows: rows.collect(), anchor: anchor(&domain.name), name: domain.name, checked_at, wrong, zone }
}

fn anchor(domain: &str) -> String {
    domain.replace('.', "-")
}

/// Both texts by their words, with those marked that the other has not.
fn compared(wanted: &str, found: &str) -> (Vec<Word>, Vec<Word>) {
    let diff = TextDiff::from_words(found, wanted);
    let (mut to_have, mut there) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let word = |mark| Word { text: change.value().to_owned(), mark };
        match change.tag() {
            ChangeTag::Equal => {
                to_have.push(word(false));
                there.push(word(false));
            }
            // With nothing there, all of it is to be added: no need to mark it.
            ChangeTag::Insert => to_have.push(word(!found.is_empty() && !change.value().trim().is_empty())),
            ChangeTag::Delete => there.push(word(!change.value().trim().is_empty())),
        }
    }
    (to_have, there)
}

pub async fn add(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let typed = form.text("domain")?;
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    match domain::add(asked.app(), workspace, &by, typed).await {
        Ok(domain) => {
            checked::check(asked.app(), workspace, &domain.name).await?;
            Ok(respond::see_other_with(PATH, Toast::new(Done::DomainAdded, "")))
        }
        Err(error @ Error::Problems(_)) => {
            let page = page(&asked, typed.to_owned(), Some(error.sentence())).await?;
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(other) => Err(other),
    }
}

pub async fn check(asked: Asked) -> Result<Response> {
    let name = asked.param("domain").unwrap_or_default();
    let (domain, _) = checked::check(asked.app(), asked.person.workspace, name).await?;
    Ok(respond::see_other(&format!("{PATH}#{}", anchor(&domain.name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_only_one_side_has_are_marked() {
        let marked = |words: &[Word]| {
            words.iter().filter(|word| word.mark).map(|word| word.text.clone()).collect::<Vec<_>>()
        };
        let (wanted, found) = compared("v=spf1 include:a a:b ~all", "v=spf1 include:a -all");
        assert_eq!(
            (marked(&wanted), marked(&found)),
            (vec!["a:b".into(), "~all".into()], vec!["-all".into()])
        );
        let (wanted, found) = compared("v=spf1 a:b ~all", "");
        assert_eq!((marked(&wanted).len(), found.len()), (0, 0));
    }
}
