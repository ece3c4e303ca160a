//! `POST /webhooks/{id}/resume`: it hears again what happens from now on.
//! To resume what is active changes nothing.

use super::managing;
use crate::operation::{Call, Operation, Spec};
use crate::operations::{NoInput, OkOutput};
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_webhooks::manage;
use rookery_webhooks::webhook::Webhook;

pub struct ResumeWebhook;

impl Operation for ResumeWebhook {
    const SPEC: Spec = Spec {
        title: "Resume a webhook",
        about: "It receives events again from now on, and its failures are cleared.",
        ..managing(Spec::write("resume_webhook", "/webhooks/{id}/resume"))
    };
    type Db = Tx<'static>;
    type Target = Webhook;
    type Input = NoInput;
    type Output = OkOutput;

    async fn run(call: &mut Call<'_, Tx<'static>>, webhook: Webhook, _: NoInput) -> Result<OkOutput> {
        manage::resume_in(&mut call.db, &call.actor.by(), webhook.id).await?;
        Ok(OkOutput::ok())
    }
}
