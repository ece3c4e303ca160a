//! Assistants: mail is sorted and answered after it is in, what people say stands, and whatever a model does, nothing
//! leaves by itself.

mod correcting;
mod drafting;
mod hostile;
mod learning;
mod reading;
mod sorting;
mod spending;
mod wire;

use rookery_assistants::settings::{self, Engine, Engines};
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::workspace::people::{self, Person};
use serde_json::{Value, json};

use rookery_world::{Key, Message, Mode, ToolAnswer, Workspace};

pub async fn owner(acme: &Workspace<'_>) -> Person {
    let app = &acme.world.app;
    people::teammate(&mut app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap()
}

/// An owner agrees that mail of an inbox is shown to the operator's model, and lets it do these.
pub async fn agrees(acme: &Workspace<'_>, inbox: MailboxId, sorting: Engine, drafting: Engine) {
    let (app, olga) = (&acme.world.app, owner(acme).await);
    let mut tx = app.begin(acme.id).await.unwrap();
    settings::agree(app, &mut tx, &olga, &[inbox]).await.unwrap();
    settings::limit(&mut tx, &olga, 100, 10_000).await.unwrap();
    let engines = Engines { sorting, drafting, reading: Engine::Rules };
    settings::choose(app, &mut tx, &olga, engines).await.unwrap();
    tx.commit().await.unwrap();
}

/// An inbox and a key that reads it.
pub async fn desk<'w>(acme: &Workspace<'w>) -> (MailboxId, Key<'w>) {
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    (inbox, acme.key("reader", "write", Mode::Live).await)
}

/// Topic and urgency, as REST and MCP tell them alike.
pub async fn told(key: &Key<'_>, id: ConversationId) -> (Value, Value) {
    let read = key.conversation(id).await;
    let ToolAnswer::Done { structured, .. } = key.tool("get_conversation", json!({ "id": id })).await else {
        panic!("the tool reads it")
    };
    for field in ["topic", "urgency"] {
        assert_eq!(structured[field], read[field], "{structured}");
    }
    (read["topic"].clone(), read["urgency"].clone())
}

/// The team has written, and the customer can answer that mail, by this id.
pub async fn wrote(acme: &Workspace<'_>, id: ConversationId, text: &str, name: &str) {
    acme.outbound(id, Message { status: "sent", text, rfc_message_id: Some(name) }).await;
}
