//! `POST /webhooks/{id}/pause`: nothing is sent to it until somebody resumes it.
//! To pause what is paused changes nothing.

use super::managing;
use crate::operation::{Call, Operation, Spec};
use crate::operations::{NoInput, OkOutput};
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_webhooks::manage;
use rookery_webhooks::webhook::Webhook;

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
    type Output = OkOutput;

    async fn run(call: &mut Call<'_, Tx<'static>>, webhook: Webhook, _: NoInput) -> Result<OkOutput> {
        manage::pause_in(&mut call.db, &call.actor.by(), webhook.id).await?;
        Ok(OkOutput::ok())
    }
}
