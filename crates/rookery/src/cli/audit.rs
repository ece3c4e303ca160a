//! `rookery admin audit verify`: checks the chain of a workspace's audit log, entry by entry.
//! It ends with exit code 1 when the log is not as it was written, and names the first place.

use clap::Subcommand;
use serde_json::json;

use crate::cli::output::CommandOutput;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::{Handle, Snapshot};
use rookery_core::workspace::audit::{ChainVerdict, Head, list, verify};

#[derive(Subcommand)]
pub enum AuditCommand {
    /// Check that no entry was changed, removed, moved or cut off. Exit code 1 when one was.
    Verify {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// A head that the server wrote to its log ("the audit log is whole"). With it, a log that was put back to an
        /// older state as a whole is found too.
        #[arg(long, value_name = "N:HEX")]
        head: Option<Head>,
    },
}

pub async fn execute(app: &App, command: AuditCommand) -> Result<CommandOutput> {
    let AuditCommand::Verify { workspace, head } = command;
    let mut instant = Snapshot::begin(app.connection().await?, app.frame(workspace)).await?;
    let keys = app.config.needs_secret_key()?;
    let newest = list::chain(&mut instant, workspace).await?.map(|chain| chain.newest.to_string());
    let verdict = verify(&mut instant, keys, workspace, head.as_ref()).await?;
    instant.finish().await?;
    Ok(match verdict {
        ChainVerdict::Sound(n) => {
            let newest = newest.unwrap_or_default();
            let line = format!("The audit log of {workspace} is whole: {n} entries. Its head is {newest}");
            CommandOutput { line, object: json!({ "sound": true, "entries": n, "head": newest }), left: None }
        }
        ChainVerdict::Broken { n, why } => {
            let line = format!("The audit log of {workspace} is broken at entry {n}: {why}.");
            let object = json!({ "sound": false, "entry": n, "why": why });
            CommandOutput { line, object, left: Some("The audit log is not as it was written.".to_owned()) }
        }
    })
}
