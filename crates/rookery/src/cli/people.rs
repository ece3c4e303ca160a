//! `rookery admin first-owner`, `remove-user`, `remove-second-factor` and `erase-contact`: what an operator does when no
//! owner can.
//! The pages of the app do the same by the same verbs.

use clap::Subcommand;
use serde_json::{Value, json};

use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_core::workspace::access::By;
use rookery_core::workspace::people::{roles, teammate};
use rookery_core::workspace::{first_run, passkeys, second_factor, sessions};
use rookery_upkeep::departures::remove::{HandOver, remove};
use rookery_upkeep::erasures::{ask, work};

#[derive(Subcommand)]
pub enum PersonCommand {
    /// Print a link that makes the first workspace of an empty service: once, within 30 minutes.
    ///
    /// Anyone who opens it names the workspace and becomes its owner. A new link replaces the one before.
    FirstOwner,
    /// Remove a person from the team: their sessions and keys end at once.
    ///
    /// Somebody takes over what they hold. Without --hand-over-to conversations are unassigned, drafts thrown away, private
    /// inboxes closed and webhooks turned off. Mail they scheduled leaves.
    RemoveUser {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
        /// An owner or admin who takes over everything, including private inboxes. Every owner is notified of those.
        #[arg(long, value_name = "usr_…")]
        hand_over_to: Option<PersonId>,
    },
    /// Erase a contact for good: their mail, files and names, in every inbox. It cannot be undone.
    ///
    /// The same as Settings, Data and erasure. A hold refuses it. It waits until the work is done; when it is cut off, the
    /// server goes on.
    EraseContact {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// An owner or admin.
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
        #[arg(long)]
        address: String,
    },
    /// Turn off the second factor of somebody who lost it, and remove their passkeys. They are signed out everywhere.
    RemoveSecondFactor {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
    },
}

pub async fn execute(app: &App, command: PersonCommand) -> Result<(String, Value)> {
    match command {
        PersonCommand::FirstOwner => {
            let url = first_run::link(app).await?;
            Ok((format!("Open this within 30 minutes. It works once:\n{url}"), json!({ "url": url })))
        }
        PersonCommand::RemoveUser { workspace, person, hand_over_to: to } => {
            let mut tx = app.begin(workspace).await?;
            let hand_over =
                HandOver { conversations: to, drafts: to, inboxes: to, webhooks: to, stop_scheduled: false };
            remove(&mut tx, &By::System, person, hand_over).await?;
            tx.commit().await?;
            Ok((format!("Removed {person}."), json!({ "removed": person })))
        }
        PersonCommand::EraseContact { workspace, person, address } => {
            let mut tx = app.begin(workspace).await?;
            let person = teammate(&mut tx, workspace, person).await?;
            let id = ask::erase(&mut tx, &person, &address, "Asked for by an operator").await?;
            tx.commit().await?;
            work::to_the_end(app, workspace, id).await?;
            let done = ask::find(&mut *app.connection().await?, workspace, id).await?;
            let line = format!(
                "Erased: {} conversations, {} messages, {} documents ({id}).",
                done.conversations, done.messages, done.documents
            );
            let object = json!({
                "erasure": id,
                "conversations": done.conversations,
                "messages": done.messages,
                "documents": done.documents,
            });
            Ok((line, object))
        }
        PersonCommand::RemoveSecondFactor { workspace, person } => {
            let mut tx = app.begin(workspace).await?;
            roles::lock(&mut tx, &By::System, person).await?;
            sessions::end_all(&mut tx, person).await?;
            passkeys::remove_all(&mut tx, &By::System, person).await?;
            second_factor::turn_off(&mut tx, &By::System, person).await?;
            tx.commit().await?;
            Ok((
                format!("{person} signs in without a second factor and without passkeys."),
                json!({ "person": person }),
            ))
        }
    }
}
