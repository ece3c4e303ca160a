//! The domains that workspaces send from: what their DNS says, and inboxes whose domain has no key. The same check as on
//! the page of domains.

use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::net::dns::Dns;
use rookery_base::store::addresses::{domain_of, domain_spellings};
use rookery_core::workspace::domains::reserved;
use rookery_core::workspace::domains::settle::{Marked, not_ours};
use rookery_mail::outgoing::domain::Domain;
use rookery_mail::outgoing::domain::check::{self, Finding};

/// Domains that are looked up: each takes name servers a moment.
const MOST: i64 = 50;
/// Of what is wrong, so much is named.
const SHOWN: i64 = 20;
/// Addresses without a proof whose domains are named.
const MOST_ADDRESSES: usize = 1000;

pub struct WorkspaceDomain {
    pub workspace: WorkspaceId,
    pub domain: Domain,
}

/// Of everybody.
pub async fn all(app: &App) -> Result<Vec<WorkspaceDomain>> {
    load_domains(app, None).await
}

async fn load_domains(app: &App, workspace: Option<WorkspaceId>) -> Result<Vec<WorkspaceDomain>> {
    let rows: Vec<(i64, String, String, String)> = sqlx::query_as(
        "select workspace_id, domain, selector, public_key from sending_domains
         where $2::bigint is null or workspace_id = $2 order by domain, workspace_id limit $1",
    )
    .bind(MOST)
    .bind(workspace.map(|workspace| workspace.0))
    .fetch_all(&mut *app.connection().await?)
    .await?;
    let named = rows.into_iter().map(|(workspace, name, selector, public_key)| WorkspaceDomain {
        workspace: WorkspaceId(workspace),
        domain: Domain { name, selector, public_key },
    });
    Ok(named.collect())
}

pub async fn inspect(app: &App, dns: &Dns, domains: Result<Vec<WorkspaceDomain>>) -> Vec<CheckRow> {
    let mut rows = match domains {
        Err(error) => vec![CheckRow::from_result("dkim", "our key", Err(error))],
        Ok(domains) if domains.is_empty() => ["dkim", "spf", "dmarc", "mx"]
            .map(|name| CheckRow::new(name, "as the page of domains says", right("no domain yet")))
            .into(),
        Ok(domains) => records(app, dns, &domains).await,
    };
    let expected = "every domain of an inbox has a key";
    rows.push(CheckRow::from_result("unsigned-domains", expected, unsigned(app).await));
    rows
}

/// The records of a workspace's domains.
pub async fn look_at_own(app: &App, dns: &Dns, workspace: WorkspaceId) -> Result<Vec<CheckRow>> {
    Ok(records(app, dns, &load_domains(app, Some(workspace)).await?).await)
}

async fn records(app: &App, dns: &Dns, domains: &[WorkspaceDomain]) -> Vec<CheckRow> {
    let mut rows = Vec::new();
    for named in domains {
        let findings = check::check(dns, &named.domain, &app.config).await;
        rows.extend(findings.iter().map(|finding| row(named, finding)));
    }
    rows
}

fn row(named: &WorkspaceDomain, finding: &Finding) -> CheckRow {
    let name = format!("{} {}", finding.purpose.to_lowercase(), named.domain.name);
    let found = if finding.found.is_empty() { "nothing".to_owned() } else { finding.found.join(" | ") };
    let judged = if finding.ok { right(found) } else { wrong(found, finding.sentence.clone()) };
    CheckRow {
        workspace: Some(named.workspace.to_string()),
        ..CheckRow::new(name, finding.wanted.clone(), judged)
    }
}

/// Whose the domains are, which no name server has to be asked for.
pub async fn whose(app: &App) -> Vec<CheckRow> {
    vec![
        CheckRow::from_result("unproven-domains", "every domain is proven or assigned", unproven(app).await),
        CheckRow::from_result(
            "reserved-addresses",
            "no inbox has an address of the server itself",
            reserved_ones(app).await,
        ),
    ]
}

/// Domains that are in use from before they had to be proven, those that several use and nobody has, and domains of inboxes and
/// further addresses of this cell that wait for a proof, whether they are marked or not.
async fn unproven(app: &App) -> Result<RowJudgement> {
    if app.directory.is_alone().await? {
        return Ok(right("one workspace: it has what it uses"));
    }
    let kept = app.directory.unproven_domains(SHOWN).await?;
    let contested = app.directory.contested_domains(SHOWN as usize).await?;
    let waiting = not_ours(app, MOST_ADDRESSES, Marked::Any).await?;
    let mut waiting: Vec<(i64, String)> =
        waiting.iter().map(|one| (one.workspace.0, domain_of(&one.address))).collect();
    waiting.sort_unstable();
    waiting.dedup();
    waiting.truncate(SHOWN as usize);
    let kept = kept.iter().map(|(domain, workspace)| format!("{domain} ({workspace}, in use from before)"));
    let contested = contested.iter().map(|domain| format!("{domain} (nobody's, in use from before)"));
    let waiting = waiting.iter().map(|(workspace, domain)| {
        format!("{domain} ({}, neither receives nor sends)", WorkspaceId(*workspace))
    });
    let named: Vec<String> = kept.chain(contested).chain(waiting).collect();
    Ok(either(
        named.is_empty(),
        if named.is_empty() { "all of them".to_owned() } else { format!("not proven: {}", named.join(", ")) },
        "Each workspace proves its own on the page of domains. Or say whose it is: \
         `rookery admin assign-domain --workspace wsp_… --domain NAME`",
    ))
}

/// Made before such addresses were refused.
async fn reserved_ones(app: &App) -> Result<RowJudgement> {
    let hosts: Vec<String> =
        reserved::hosts(&app.config).iter().flat_map(|host| domain_spellings(host)).collect();
    let mut there: Vec<String> = sqlx::query_scalar(
        "select address from mailboxes where split_part(address, '@', 2) = any($1) and closed_at is null
         union select address from mailbox_aliases where split_part(address, '@', 2) = any($1) order by 1",
    )
    .bind(&hosts)
    .fetch_all(&mut *app.connection().await?)
    .await?;
    there.retain(|address| reserved::is_reserved(&app.config, address));
    there.truncate(usize::try_from(SHOWN).unwrap_or_default());
    Ok(either(
        there.is_empty(),
        if there.is_empty() { "none".to_owned() } else { there.join(", ") },
        "Anyone who reads these can get a certificate for the server. Let only the people who run it read them, or set \
         `ROOKERY_MAIL_NAME` to a name that no inbox has.",
    ))
}

async fn unsigned(app: &App) -> Result<RowJudgement> {
    let domains: Vec<String> = sqlx::query_scalar(
        "select distinct split_part(m.address, '@', 2) from mailboxes m
         where kind = 'team' and closed_at is null and not exists (
             select from sending_domains d
             where d.workspace_id = m.workspace_id and d.domain = split_part(m.address, '@', 2))
         order by 1 limit 20",
    )
    .fetch_all(&mut *app.connection().await?)
    .await?;
    Ok(either(
        domains.is_empty(),
        if domains.is_empty() {
            "each has one".to_owned()
        } else {
            format!("no key for {}", domains.join(", "))
        },
        "Make their keys on the page of domains, or: `rookery admin add-domain --workspace wsp_… --domain NAME`",
    ))
}
