//! `rookery admin list-suppressed` and `unsuppress`: addresses that are not written to because they complained or
//! do not exist, and how an operator lifts that.

use serde_json::{Value, json};

use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_core::workspace::people::an_address;
use rookery_product::replies::suppress;

/// A readable line and the JSON object that says the same.
pub async fn list(app: &App, workspace: WorkspaceId) -> Result<(String, Value)> {
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for one in suppress::list(&mut *app.connection().await?, workspace).await? {
        let about = one.conversation.map(|id| format!("  about a message in {id}")).unwrap_or_default();
        lines.push(format!("{}  {}  since {}{about}", one.address, one.reason, written(one.at)));
        objects.push(json!({
            "address": one.address,
            "reason": one.reason,
            "at": written(one.at),
            "message": one.message,
            "conversation": one.conversation,
        }));
    }
    let line = if lines.is_empty() { "No suppressed addresses.".to_owned() } else { lines.join("\n") };
    Ok((line, json!({ "suppressed": objects })))
}

pub async fn lift(app: &App, workspace: WorkspaceId, address: &str) -> Result<(String, Value)> {
    let address = an_address("address", address)?;
    let mut tx = app.begin(workspace).await?;
    let lifted = suppress::unsuppress(&mut tx, &address).await?;
    tx.commit().await?;
    let line = if lifted {
        format!("{address} is written to again. Messages that failed meanwhile are not sent by themselves.")
    } else {
        format!("Nothing to lift: {address} is not suppressed.")
    };
    Ok((line, json!({ "address": address, "lifted": lifted })))
}
