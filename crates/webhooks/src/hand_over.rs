//! The webhooks of somebody who leaves the team: those of the team get another maker or are off. Private ones are removed,
//! because they told of that person's own mail.

use crate::manage::{lock, stop};
use crate::remove::end;
use crate::webhook::{Scope, WebhookState};
use rookery_base::error::Result;
use rookery_base::ids::{PersonId, WebhookId};
use rookery_base::store::db::Tx;

/// What became of them.
#[derive(Debug, Default)]
pub struct HandedOver {
    pub kept: Vec<WebhookId>,
    pub off: Vec<WebhookId>,
    pub removed: Vec<WebhookId>,
}

pub async fn hand_over(tx: &mut Tx<'_>, from: PersonId, to: Option<PersonId>) -> Result<HandedOver> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let theirs = sqlx::query!(
        r#"select id as "id: WebhookId", scope as "scope: Scope" from webhooks
           where workspace_id = $1 and maker_id = $2 and removed_at is null order by id"#,
        workspace.0,
        from.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut became = HandedOver::default();
    for webhook in theirs {
        lock(tx, workspace, webhook.id).await?;
        match (webhook.scope, to) {
            (Scope::Private, _) => {
                end(tx, workspace, webhook.id, now).await?;
                became.removed.push(webhook.id);
            }
            (Scope::Team, None) => {
                stop(tx, workspace, webhook.id, WebhookState::Off, now).await?;
                became.off.push(webhook.id);
            }
            (Scope::Team, Some(to)) => {
                sqlx::query!(
                    "update webhooks set maker_id = $3 where workspace_id = $1 and id = $2",
                    workspace.0,
                    webhook.id.0,
                    to.0
                )
                .execute(&mut **tx)
                .await?;
                became.kept.push(webhook.id);
            }
        }
    }
    Ok(became)
}
