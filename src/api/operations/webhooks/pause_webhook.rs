//! `POST /webhooks/{id}/pause`: nothing is sent to it until somebody resumes it.
//! To pause what is paused changes nothing.

use super::managing;
use crate::api::operation::{Call, Operation, Spec};
use crate::api::operations::{Done, NoInput};
use crate::error::Result;
use crate::store::db::Tx;
use crate::webhooks::manage;
use crate::webhooks::webhook::Webhook;

pub struct PauseWebhook;

impl Operation for PauseWebhook {
    const SPEC: Spec = Spec {
        title: "Pause a webhook",
        about: "Nothing is sent to it until it is resumed. What waits is not sent later by itself.",
        ..managing(Spec::write("pause_webhook", "/webhooks/{id}/pause"))
    };
    type Db = Tx<'static>;
    type Target = Webhook;
    type Input = NoInput;
    type Output = Done;

    async fn run(call: &mut Call<'_, Tx<'static>>, webhook: Webhook, _: NoInput) -> Result<Done> {
        manage::pause_in(&mut call.db, &call.actor.by(), webhook.id).await?;
        Ok(Done::ok())
    }
}
