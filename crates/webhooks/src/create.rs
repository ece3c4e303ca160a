//! Makes a webhook (specification 6.1): by an owner or admin, to a public https address, for the team's inboxes
//! or the maker's private ones, live or test. Its secret is shown once, here.

use serde_json::json;

use crate::secret::encrypt;
use crate::webhook::{Scope, find};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WebhookId, WorkspaceId};
use rookery_base::secrets::signed_requests::SharedSecret;
use rookery_base::store::db::Tx;
use rookery_core::events::event::Kind;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::{people, plan};

/// Live and test each.
pub const MOST: i64 = 20;
/// Characters of an address.
pub const LONGEST_URL: usize = 2048;

pub struct WebhookParameters<'a> {
    pub maker: PersonId,
    pub url: &'a str,
    pub livemode: bool,
    pub scope: Scope,
    /// Kinds of event; none means all.
    pub kinds: &'a [String],
}

/// A webhook that was just made, or whose secret was just replaced: the only moment the secret's text exists.
pub struct NewSecret {
    pub webhook: WebhookId,
    pub secret: String,
}

pub async fn create(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    wanted: WebhookParameters<'_>,
) -> Result<NewSecret> {
    chosen(wanted.kinds)?;
    let url = app.outside.a_public_address("url", wanted.url).await?;
    let mut tx = app.begin(workspace).await?;
    let made = create_in(&mut tx, by, &WebhookParameters { url: url.as_str(), ..wanted }).await?;
    tx.commit().await?;
    Ok(made)
}

/// The same with an address that was found to be public. What a key makes ends with the key.
pub async fn create_in(tx: &mut Tx<'_>, by: &By, wanted: &WebhookParameters<'_>) -> Result<NewSecret> {
    let (kinds, workspace) = (chosen(wanted.kinds)?, tx.workspace());
    let agent = match by {
        By::Agent { id, .. } => Some(id.0),
        _ => None,
    };
    let role = people::hold(tx, wanted.maker).await?;
    if !role.administers() {
        return Err(Error::Forbidden("Only owners and admins can make webhooks.".into()));
    }
    plan::plan_of(tx, workspace).await?.needs_api()?;
    // One at a time, so that the limit holds.
    sqlx::query!("select id from workspaces where id = $1 for no key update", workspace.0)
        .fetch_one(&mut **tx)
        .await?;
    let there = sqlx::query_scalar!(
        r#"select count(*) as "count!" from webhooks where workspace_id = $1 and livemode = $2
             and removed_at is null"#,
        workspace.0,
        wanted.livemode
    )
    .fetch_one(&mut **tx)
    .await?;
    if there >= MOST {
        return Err(Error::problem("mode", format!("there are {MOST} webhooks of this mode already")));
    }
    let (id, secret): (WebhookId, _) = (tx.mint(), SharedSecret::new(&tx.frame().random));
    let sealed = encrypt(&secret, tx.frame().needs_keys()?, &tx.frame().random, workspace, id)?;
    let now = tx.now();
    sqlx::query!(
        "with made as (
             insert into webhooks (workspace_id, id, maker_id, livemode, scope, url, kinds, secret, created_at, agent_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning workspace_id, id)
         insert into webhook_lanes (workspace_id, webhook_id) select workspace_id, id from made",
        workspace.0,
        id.0,
        wanted.maker.0,
        wanted.livemode,
        wanted.scope as Scope,
        wanted.url,
        kinds.as_deref(),
        sealed,
        now,
        agent
    )
    .execute(&mut **tx)
    .await?;
    let made = find(tx, workspace, id).await?;
    let data = json!({ "livemode": made.livemode, "scope": made.scope, "events": made.kinds });
    audit::record(tx, by, Did::WebhookMade, Subject { id: &id, name: &made.called() }, data).await?;
    Ok(NewSecret { webhook: id, secret: secret.text() })
}

/// Kinds that somebody chose; none means all, also those to come.
pub fn chosen(kinds: &[String]) -> Result<Option<Vec<String>>> {
    if let Some(unknown) = kinds.iter().find(|kind| !Kind::NAMES.contains(&kind.as_str())) {
        let shown: String = unknown.chars().take(60).collect();
        return Err(Error::problem("events", format!("{shown:?} is none of {}", Kind::NAMES.join(", "))));
    }
    Ok((!kinds.is_empty()).then(|| kinds.to_vec()))
}
