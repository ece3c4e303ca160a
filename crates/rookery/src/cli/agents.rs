//! `rookery admin stop-agents` and `start-agents`: the same as the button of the app, for somebody whose browser is not at
//! hand.

use serde_json::{Value, json};

use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_core::workspace::people;
use rookery_product::replies::agents::stop::{self, HeldMessages};

/// A readable line and the JSON object that says the same.
pub async fn stop(app: &App, workspace: WorkspaceId, person: PersonId) -> Result<(String, Value)> {
    let person = people::teammate(&mut *app.connection().await?, workspace, person).await?;
    let stopped = stop::stop(app, workspace, &person).await?;
    let mut line = if stopped.already {
        "Every agent was stopped already.".to_owned()
    } else {
        "Every agent is stopped.".to_owned()
    };
    if stopped.held > 0 {
        line.push_str(&format!(" Held until they are started again: {}.", messages(stopped.held)));
    }
    if stopped.on_their_way > 0 {
        let many = messages(stopped.on_their_way);
        line.push_str(&format!(" Already being handed to the mail server, and may still arrive: {many}."));
    }
    let object = json!({ "stopped": true, "held": stopped.held, "onTheirWay": stopped.on_their_way });
    Ok((line, object))
}

pub async fn start(
    app: &App,
    workspace: WorkspaceId,
    person: PersonId,
    let_leave: bool,
) -> Result<(String, Value)> {
    let person = people::teammate(&mut *app.connection().await?, workspace, person).await?;
    let waiting = if let_leave { HeldMessages::Leave } else { HeldMessages::BecomeDrafts };
    let started = stop::start(app, workspace, &person, waiting).await?;
    let mut line = if started.already {
        "The agents were not stopped.".to_owned()
    } else {
        "The agents work again.".to_owned()
    };
    if started.drafts > 0 {
        line.push_str(&format!(" Drafts again, for a person to approve: {}.", messages(started.drafts)));
    }
    if started.leave > 0 {
        line.push_str(&format!(" Leaving after the undo window: {}.", messages(started.leave)));
    }
    Ok((line, json!({ "stopped": false, "drafts": started.drafts, "leave": started.leave })))
}

fn messages(count: i64) -> String {
    if count == 1 { "1 message".to_owned() } else { format!("{count} messages") }
}
