//! `/settings/domains`: what the DNS of a workspace's domains should say and what it says. Name servers take seconds, so the
//! page shows what was found when somebody last asked.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use similar::{ChangeTag, TextDiff};

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::store::addresses::{ascii_domain, domain_of};
use rookery_core::workspace::domains::{self, Ownership};
use rookery_mail::outgoing::domain::check::Finding;
use rookery_mail::outgoing::domain::checked::{self, CheckedDomain};
use rookery_mail::outgoing::domain::{self, DnsRecord, OWNERSHIP};

const PATH: &str = "/settings/domains";

#[derive(Template)]
#[template(path = "settings/domains.html")]
struct DomainsPage {
    shell: Shell,
    page: &'static str,
    domains: Vec<ShownDomain>,
    /// Domains of inboxes that neither receive nor send, and whose record was not made yet.
    unproven: Vec<String>,
    /// Domains of inboxes whose mail leaves without a signature.
    unsigned: Vec<String>,
    typed: String,
    problem: Option<String>,
}

/// A domain with its rows, as they should be and as they are.
pub struct ShownDomain {
    pub name: String,
    pub anchor: String,
    pub ownership: Ownership,
    pub checked_at: Option<DateTime<Utc>>,
    pub wrong: usize,
    pub rows: Vec<ShownRow>,
    pub zone: String,
}

impl ShownDomain {
    /// Every row was found as it should be.
    pub fn is_right(&self) -> bool {
        self.checked_at.is_some() && self.rows.iter().all(ShownRow::is_right)
    }
}

pub struct ShownRow {
    pub row: DnsRecord,
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

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked, String::new(), None).await?)
}

async fn page(asked: &MemberRequest, typed: String, problem: Option<String>) -> Result<DomainsPage> {
    let mut conn = asked.reading().await?;
    let workspace = asked.person.workspace;
    let listed = checked::list(&mut conn, workspace).await?;
    let mut unsigned = checked::unsigned(&mut conn, workspace).await?;
    let addresses = checked::of_inboxes(&mut conn, workspace).await?;
    // The directory has a connection of its own.
    drop(conn);
    let app = asked.visit.app();
    let unproven = domains::unproven(app, workspace, &addresses).await?;
    let mut unproven: Vec<String> = unproven.iter().map(|address| domain_of(address)).collect();
    unproven.sort_unstable();
    unproven.dedup();
    unproven.retain(|domain| listed.iter().all(|one| one.domain.name != *domain));
    unsigned.retain(|domain| !unproven.contains(&ascii_domain(domain)));
    let mut domains = Vec::with_capacity(listed.len());
    for one in listed {
        domains.push(shown(app, workspace, one).await?);
    }
    let shell = Shell::frame(asked, Here::Settings);
    Ok(DomainsPage { shell, page: PATH, domains, unproven, unsigned, typed, problem })
}

pub async fn shown(app: &App, workspace: WorkspaceId, one: CheckedDomain) -> Result<ShownDomain> {
    let CheckedDomain { domain, checked_at, mut findings } = one;
    let ownership = domains::ownership(app, workspace, &domain.name).await?;
    let mut rows = domain.rows(&app.config);
    if ownership.wants_proof() {
        rows.insert(0, domain.ownership_row(app, workspace)?);
    } else {
        // The record was needed once.
        findings.retain(|finding| finding.purpose != OWNERSHIP);
    }
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
    let (rows, anchor) = (rows.collect(), anchor(&domain.name));
    Ok(ShownDomain { rows, anchor, name: domain.name, ownership, checked_at, wrong, zone })
}

fn anchor(domain: &str) -> String {
    domain.replace('.', "-")
}

/// Both texts as words, with those marked that the other text lacks.
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

pub async fn add(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let typed = form.text("domain")?;
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    match domain::add(asked.app(), workspace, &by, typed).await {
        Ok(domain) => {
            checked::check(asked.app(), workspace, &by, &domain.name).await?;
            Ok(respond::see_other_with(PATH, Toast::new(Done::DomainAdded, "")))
        }
        Err(error @ Error::Problems(_)) => {
            let page = page(&asked, typed.to_owned(), Some(error.sentence())).await?;
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(other) => Err(other),
    }
}

pub async fn check(asked: MemberRequest) -> Result<Response> {
    let name = asked.param("domain").unwrap_or_default();
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    let (domain, _) = checked::check(asked.app(), workspace, &by, name).await?;
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
