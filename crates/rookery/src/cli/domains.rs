//! `rookery admin add-domain`, `check-domain` and `assign-domain`: the key that signs a domain's mail, the rows its DNS
//! has to have, and whose it is.

use serde_json::{Value, json};

use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_core::workspace::access::By;
use rookery_core::workspace::domains::{assign as assign_to, ownership};
use rookery_mail::outgoing::domain::{self, checked};

pub async fn add(app: &App, workspace: WorkspaceId, domain: &str) -> Result<(String, Value)> {
    let name = domain::a_domain(domain)?;
    if app.directory.holder_of(&name).await?.is_none() {
        app.directory.assign_free_domain(workspace, &name).await?;
    }
    let domain = domain::add(app, workspace, &By::System, &name).await?;
    let mut rows = domain.rows(&app.config);
    if ownership(app, workspace, &domain.name).await?.wants_proof() {
        rows.insert(0, domain.ownership_row(app, workspace)?);
    }
    let mut lines = vec![
        format!("Mail from {} is signed from now on. Put these rows into its DNS:", domain.name),
        String::new(),
    ];
    lines.extend(rows.iter().map(|row| row.zone.clone()));
    lines.extend([
        String::new(),
        "A relay of a provider has its own word for SPF, such as include:spf.provider.example: use that instead of a:."
            .into(),
        "A domain has one SPF row only: if there is one, add the word to it.".into(),
        format!("Then run: rookery admin check-domain --workspace {workspace} --domain {}", domain.name),
    ]);
    let object = json!({ "domain": domain.name, "selector": domain.selector, "rows": rows });
    Ok((lines.join("\n"), object))
}

pub async fn check(app: &App, workspace: WorkspaceId, domain: &str) -> Result<(String, Value)> {
    let (domain, findings) = checked::check(app, workspace, &By::System, domain).await?;
    let name = &domain.name;
    let ok = findings.iter().all(|finding| finding.ok);
    let mut lines: Vec<String> = findings.iter().map(|finding| finding.sentence.clone()).collect();
    lines.push(if ok {
        format!("Mail from {name} is ready to leave.")
    } else {
        format!("Mail from {name} may be taken for spam until this is put right.")
    });
    Ok((lines.join("\n"), json!({ "domain": name, "ok": ok, "findings": findings })))
}

pub async fn assign(app: &App, workspace: WorkspaceId, domain: &str) -> Result<(String, Value)> {
    let domain = domain::a_domain(domain)?;
    let before = assign_to(app, workspace, &domain).await?;
    let mut line = format!("{domain} is {workspace}'s. Its inboxes receive and send.");
    if let Some(before) = before {
        line.push_str(&format!(
            " {before} had it: inboxes of this domain there neither receive nor send any more."
        ));
    }
    Ok((line, json!({ "domain": domain, "workspace": workspace, "before": before })))
}
