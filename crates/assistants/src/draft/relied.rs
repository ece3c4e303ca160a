//! What a draft relied on: mails of its conversation and saved replies of the team, as the model named them. The names are
//! numbers that we gave it, so it can name nothing else.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use rookery_base::error::Result;
use rookery_base::ids::{MessageId, WorkspaceId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ReliedSource {
    /// A mail of this conversation, by its id.
    Mail {
        id: String,
        ours: bool,
    },
    SavedReply {
        name: String,
    },
}

impl ReliedSource {
    pub fn describe(&self) -> String {
        match self {
            Self::Mail { ours: false, .. } => "the customer’s mail".to_owned(),
            Self::Mail { ours: true, .. } => "an earlier mail of ours".to_owned(),
            Self::SavedReply { name } => format!("the saved reply “{name}”"),
        }
    }

    /// Where it stands in the timeline.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Mail { id, .. } => Some(id),
            Self::SavedReply { .. } => None,
        }
    }
}

/// One line for whoever approves it.
pub fn summary(sources: &[ReliedSource]) -> String {
    let mut told: Vec<String> = sources.iter().map(ReliedSource::describe).collect();
    told.dedup();
    told.truncate(4);
    match told.split_last() {
        None => "Written by a model, which names nothing that it relied on".to_owned(),
        Some((last, [])) => format!("Relies on {last}"),
        Some((last, others)) => format!("Relies on {} and {last}", others.join(", ")),
    }
}

/// A draft of the assistant.
#[derive(Debug)]
pub struct Relied {
    pub model: String,
    pub on: Vec<ReliedSource>,
}

pub async fn load(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<Relied>> {
    let row = sqlx::query!(
        r#"select model, relied_on as "on: Json<Vec<ReliedSource>>" from assistant_drafts
           where workspace_id = $1 and message_id = $2"#,
        workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Relied { model: row.model, on: row.on.0 }))
}
