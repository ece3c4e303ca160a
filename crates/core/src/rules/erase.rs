//! Somebody is erased whom rules name: the condition goes and the rule is turned off, because without it the rule would act
//! on mail of everybody. A rule that names them elsewhere goes as a whole.

use serde_json::{Value, json};

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use rookery_base::error::Result;
use rookery_base::ids::RuleId;
use rookery_base::store::db::Tx;
use rookery_reading::text::{names_address, without_addresses};

/// The workspace's row is held by the caller, as by everybody who changes rules.
pub async fn address(tx: &mut Tx<'_>, address: &str) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // Read as JSON: also what a newer version wrote.
    let rules = sqlx::query!(
        r#"select id as "id: RuleId", name, definition from rules where workspace_id = $1 order by place, id for update"#,
        workspace
    )
    .fetch_all(&mut **tx)
    .await?;
    for rule in rules {
        let (name, mut definition) = (without_addresses(&rule.name), rule.definition);
        let is_named = names_address(&rule.name, address);
        let took = definition.get_mut("if").and_then(Value::as_array_mut).is_some_and(|conditions| {
            let before = conditions.len();
            conditions.retain(|condition| !names_address(&condition.to_string(), address));
            conditions.len() < before
        });
        let subject = Subject { id: &rule.id, name: &name };
        let data = json!({ "because": "a contact is erased" });
        if names_address(&definition.to_string(), address) {
            sqlx::query!("delete from rules where workspace_id = $1 and id = $2", workspace, rule.id.0)
                .execute(&mut **tx)
                .await?;
            audit::record(tx, &By::System, Did::RuleRemoved, subject, data).await?;
        } else if took || is_named {
            sqlx::query!(
                "update rules set name = case when $5 then $3 else name end, definition = $4,
                     is_on = is_on and not $6, changed_at = $7
                 where workspace_id = $1 and id = $2",
                workspace,
                rule.id.0,
                name,
                definition,
                is_named,
                took,
                now
            )
            .execute(&mut **tx)
            .await?;
            let did = if took { Did::RuleOff } else { Did::RuleChanged };
            audit::record(tx, &By::System, did, subject, data).await?;
        }
    }
    Ok(())
}
