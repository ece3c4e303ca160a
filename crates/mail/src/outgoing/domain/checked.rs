//! The domains of a workspace with what the name servers last said of each. Asking them takes seconds, so pages show what
//! was found and somebody asks anew.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::outgoing::domain::check::{self, Finding};
use crate::outgoing::domain::{Domain, a_domain, find};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::net::dns::Dns;
use rookery_core::workspace::access::By;
use rookery_core::workspace::domains::{self, ownership};

/// A domain with what the name servers last said of it.
pub struct CheckedDomain {
    pub domain: Domain,
    pub checked_at: Option<DateTime<Utc>>,
    pub findings: Vec<Finding>,
}

pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<CheckedDomain>> {
    let rows = sqlx::query!(
        r#"select domain, selector, public_key, checked_at, findings as "findings: Json<Vec<Finding>>"
           from sending_domains where workspace_id = $1 order by domain"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?;
    let checked = rows.into_iter().map(|row| CheckedDomain {
        domain: Domain { name: row.domain, selector: row.selector, public_key: row.public_key },
        checked_at: row.checked_at,
        findings: row.findings.map(|findings| findings.0).unwrap_or_default(),
    });
    Ok(checked.collect())
}

/// The addresses of live inboxes, and their further ones.
pub async fn of_inboxes(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"select address as "address!" from mailboxes
           where workspace_id = $1 and kind <> 'sandbox' and closed_at is null
           union all select address from mailbox_aliases where workspace_id = $1"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}

/// Domains of live inboxes whose mail leaves without a signature.
pub async fn unsigned(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct split_part(address, '@', 2) as "domain!" from mailboxes
           where workspace_id = $1 and kind = 'team'
             and split_part(address, '@', 2) not in (select domain from sending_domains where workspace_id = $1)
           order by 1"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}

/// Asks the name servers, and keeps what they say. A domain that names the workspace is the workspace's from then on.
pub async fn check(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    domain: &str,
) -> Result<(Domain, Vec<Finding>)> {
    let name = a_domain(domain)?;
    let found = find(&mut *app.connection().await?, workspace, &name).await?;
    let domain = found.ok_or(Error::Missing("No such domain. Run: rookery admin add-domain"))?;
    let dns = Dns::new(&app.config.dns)?;
    let mut findings = check::check(&dns, &domain, &app.config).await;
    if ownership(app, workspace, &name).await?.wants_proof() {
        let mut finding = check::proves(&dns, app, workspace, &domain).await?;
        if finding.ok && !domains::prove(app, workspace, by, &name).await? {
            finding.ok = false;
            finding.sentence = format!("{name} belongs to another workspace of this server.");
        }
        findings.insert(0, finding);
    }
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    sqlx::query!(
        "update sending_domains set checked_at = $3, findings = $4 where workspace_id = $1 and domain = $2",
        workspace.0,
        name,
        now,
        Json(&findings) as _
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok((domain, findings))
}
