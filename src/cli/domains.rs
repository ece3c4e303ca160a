//! `rookery admin add-domain` and `check-domain`: the key that signs a domain's mail, and the rows its DNS
//! has to have.

use serde_json::{Value, json};

use crate::app::App;
use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::outgoing::domain::{self, checked};
use crate::workspace::access::By;

pub async fn add(app: &App, workspace: WorkspaceId, domain: &str) -> Result<(String, Value)> {
    let domain = domain::add(app, workspace, &By::System, domain).await?;
    let rows = domain.rows(&app.config);
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
    let (domain, findings) = checked::check(app, workspace, domain).await?;
    let name = &domain.name;
    let ok = findings.iter().all(|finding| finding.ok);
    let mut lines: Vec<String> = findings.iter().map(|finding| finding.sentence.clone()).collect();
    lines.push(match ok {
        true => format!("Mail from {name} is ready to leave."),
        false => format!("Mail from {name} may be taken for spam until this is put right."),
    });
    Ok((lines.join("\n"), json!({ "domain": name, "ok": ok, "findings": findings })))
}
