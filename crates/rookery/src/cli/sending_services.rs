//! `rookery admin …-sending-service`: connects and disconnects email-sending services.
//! The pages of the app do the same by the same verbs.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, SendingServiceId, WorkspaceId};
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::connect::{WantedService, connect, connected, disconnect};

#[derive(Subcommand)]
pub enum SendingServiceCommand {
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
        /// Whose hook it is: postmark, resend, ses, mailgun, sendgrid, or own for our own form.
        #[arg(long, default_value = "own")]
        provider: Provider,
        /// Where the words of an email are, for example https://api.mailer.example/emails/{id}/content. Only for our
        /// own form.
        #[arg(long, value_name = "URL", default_value = "")]
        content_url: String,
        /// A file that holds the token for that address, or for the service's own.
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
        /// A file that holds the key that the service signs with; for Amazon SES the ARN of the topic.
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
    },
    /// Disconnect a service. What it reported is kept.
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
pub async fn execute(app: &App, command: SendingServiceCommand) -> Result<(String, Value)> {
    Ok(match command {
        SendingServiceCommand::ConnectSendingService {
            workspace,
            person,
            name,
            provider,
            content_url,
            token_file,
            key_file,
        } => {
            let (token, key) = (held(token_file).await?, held(key_file).await?);
            let wanted = WantedService {
                person,
                name: &name,
                provider,
                content_url: &content_url,
                token: &token,
                key: &key,
            };
            let made = connect(app, workspace, wanted).await?;
            let line = match made.secret.as_str() {
                "" => format!("Connected {}. It tells what it sent to {}.", made.id, made.hook),
                secret => format!(
                    "Connected {}. It tells what it sent to {} and signs with {secret}, which is not shown again.",
                    made.id, made.hook
                ),
            };
            let secret = Some(made.secret).filter(|secret| !secret.is_empty());
            (line, json!({ "service": made.id, "url": made.hook, "secret": secret }))
        }
        SendingServiceCommand::DisconnectSendingService { workspace, person, service } => {
            disconnect(app, workspace, person, service).await?;
            (format!("Disconnected {service}."), json!({ "service": service, "disconnected": true }))
        }
        SendingServiceCommand::ListSendingServices { workspace } => list(app, workspace).await?,
    })
}

/// What is in a file; nothing when none was named.
async fn held(file: Option<PathBuf>) -> Result<String> {
    let Some(file) = file else { return Ok(String::new()) };
    tokio::fs::read_to_string(&file)
        .await
        .map_err(|error| Error::internal(format!("{} cannot be read: {error}", file.display())))
}

async fn list(app: &App, workspace: WorkspaceId) -> Result<(String, Value)> {
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for service in connected(&mut *app.connection().await?, workspace).await? {
        let since = written(service.created_at);
        let provider = service.provider.as_str();
        let line =
            format!("{}  {provider}  {}  {}  since {since}", service.id, service.name, service.content_url);
        lines.push(line);
        objects.push(json!({
            "service": service.id,
            "name": service.name,
            "provider": provider,
            "contentUrl": service.content_url,
            "connectedAt": since,
        }));
    }
    let line = if lines.is_empty() { "No sending services.".to_owned() } else { lines.join("\n") };
    Ok((line, json!({ "services": objects })))
}
