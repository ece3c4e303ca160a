//! The domains that workspaces send from: what their DNS says, and inboxes whose domain has no key. The same check as on
//! the page of domains.

use crate::app::App;
use crate::doctor::row::{Judged, Row, either, right, wrong};
use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::net::dns::Dns;
use crate::outgoing::domain::Domain;
use crate::outgoing::domain::check::{self, Finding};

/// Domains that are looked up: each takes name servers a moment.
const MOST: i64 = 50;

pub struct Named {
    pub workspace: WorkspaceId,
    pub domain: Domain,
}

pub async fn all(app: &App) -> Result<Vec<Named>> {
    let rows: Vec<(i64, String, String, String)> = sqlx::query_as(
        "select workspace_id, domain, selector, public_key from sending_domains order by domain, workspace_id limit $1",
    )
    .bind(MOST)
    .fetch_all(&mut *app.connection().await?)
    .await?;
    let named = rows.into_iter().map(|(workspace, name, selector, public_key)| Named {
        workspace: WorkspaceId(workspace),
        domain: Domain { name, selector, public_key },
    });
    Ok(named.collect())
}

pub async fn look(app: &App, dns: &Dns, domains: Result<Vec<Named>>) -> Vec<Row> {
    let mut rows = match domains {
        Err(error) => vec![Row::of("dkim", "our key", Err(error))],
        Ok(domains) if domains.is_empty() => ["dkim", "spf", "dmarc", "mx"]
            .map(|name| Row::new(name, "as the page of domains says", right("no domain yet")))
            .into(),
        Ok(domains) => {
            let mut rows = Vec::new();
            for named in &domains {
                let findings = check::check(dns, &named.domain, &app.config).await;
                rows.extend(findings.iter().map(|finding| row(named, finding)));
            }
            rows
        }
    };
    let expected = "every domain of an inbox has a key";
    rows.push(Row::of("unsigned-domains", expected, unsigned(app).await));
    rows
}

fn row(named: &Named, finding: &Finding) -> Row {
    let name = format!("{} {}", finding.purpose.to_lowercase(), named.domain.name);
    let found = if finding.found.is_empty() { "nothing".to_owned() } else { finding.found.join(" | ") };
    let judged = if finding.ok { right(found) } else { wrong(found, finding.sentence.clone()) };
    Row { workspace: Some(named.workspace.to_string()), ..Row::new(name, finding.wanted.clone(), judged) }
}

async fn unsigned(app: &App) -> Result<Judged> {
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
