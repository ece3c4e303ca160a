//! `rookery admin …-sending-service`: connects and disconnects email-sending services.
//! The pages of the app do the same by the same verbs.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::app::App;
use crate::app_mail::connect::{Wanted, connect, connected, disconnect};
use crate::clock::written;
use crate::error::{Error, Result};
use crate::ids::{PersonId, SendingServiceId, WorkspaceId};

#[derive(Subcommand)]
pub enum Command {
    /// Connect a service that sends an app's email. Its signing secret is shown once.
    ConnectSendingService {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// An owner or admin.
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
        /// What people call it.
        #[arg(long)]
        name: String,
        /// Where the words of an email are, for example https://api.mailer.example/emails/{id}/content.
        #[arg(long, value_name = "URL")]
        content_url: String,
        /// A file that holds the bearer token for that address.
        #[arg(long, value_name = "FILE")]
        token_file: PathBuf,
    },
    /// Hear and ask a service no more. What it told stays.
    DisconnectSendingService {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// An owner or admin.
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
        #[arg(long, value_name = "svc_…")]
        service: SendingServiceId,
    },
    /// List the services that are connected.
    ListSendingServices {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
    },
}

/// A readable line and the JSON object that says the same.
pub async fn execute(app: &App, command: Command) -> Result<(String, Value)> {
    Ok(match command {
        Command::ConnectSendingService { workspace, person, name, content_url, token_file } => {
            let token = tokio::fs::read_to_string(&token_file).await.map_err(|error| {
                Error::internal(format!("{} cannot be read: {error}", token_file.display()))
            })?;
            let wanted = Wanted { person, name: &name, content_url: &content_url, token: &token };
            let made = connect(app, workspace, wanted).await?;
            let line = format!(
                "Connected {}. It tells what it sent to {} and signs with {}, which is not shown again.",
                made.id, made.hook, made.secret
            );
            (line, json!({ "service": made.id, "url": made.hook, "secret": made.secret }))
        }
        Command::DisconnectSendingService { workspace, person, service } => {
            disconnect(app, workspace, person, service).await?;
            (format!("Disconnected {service}."), json!({ "service": service, "disconnected": true }))
        }
        Command::ListSendingServices { workspace } => list(app, workspace).await?,
    })
}

async fn list(app: &App, workspace: WorkspaceId) -> Result<(String, Value)> {
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for service in connected(&mut *app.connection().await?, workspace).await? {
        let since = written(service.created_at);
        lines.push(format!("{}  {}  {}  since {since}", service.id, service.name, service.content_url));
        objects.push(json!({
            "service": service.id,
            "name": service.name,
            "contentUrl": service.content_url,
            "connectedAt": since,
        }));
    }
    let line = if lines.is_empty() { "No sending services.".to_owned() } else { lines.join("\n") };
    Ok((line, json!({ "services": objects })))
}
