//! `rookery admin remove-user` and `remove-second-factor`: what an operator does when no owner can.
//! The pages of the app do the same by the same verbs.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::app::App;
use crate::departures::remove::{HandOver, remove};
use crate::error::Result;
use crate::ids::{PersonId, WorkspaceId};
use crate::workspace::access::By;
use crate::workspace::people::roles;
use crate::workspace::{second_factor, sessions};

#[derive(Subcommand)]
pub enum Command {
    /// Remove a person from the team: their sessions and keys end at once.
    ///
    /// Somebody takes over what they hold. Without --hand-over-to conversations are unassigned, drafts thrown away, private
    /// inboxes closed and webhooks turned off. Mail they scheduled leaves.
    RemoveUser {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
        /// An owner or admin who takes over everything, private inboxes too.
        #[arg(long, value_name = "usr_…")]
        hand_over_to: Option<PersonId>,
    },
    /// Turn off the second factor of somebody who lost it. They are signed out everywhere.
    RemoveSecondFactor {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
    },
}

pub async fn execute(app: &App, command: Command) -> Result<(String, Value)> {
    match command {
        Command::RemoveUser { workspace, person, hand_over_to: to } => {
            let mut tx = app.begin(workspace).await?;
            let hand_over =
                HandOver { conversations: to, drafts: to, inboxes: to, webhooks: to, stop_scheduled: false };
            remove(&mut tx, &By::System, person, hand_over).await?;
            tx.commit().await?;
            Ok((format!("Removed {person}."), json!({ "removed": person })))
        }
        Command::RemoveSecondFactor { workspace, person } => {
            let mut tx = app.begin(workspace).await?;
            roles::lock(&mut tx, &By::System, person).await?;
            sessions::end_all(&mut tx, person).await?;
            second_factor::turn_off(&mut tx, &By::System, person).await?;
            tx.commit().await?;
            Ok((format!("{person} signs in without a second factor."), json!({ "person": person })))
        }
    }
}
