//! `POST /webhooks/{id}/test`: sends `webhook.test` to this webhook alone, also while it is stopped.
//! It goes through the queue, so the log tells what came of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::managing;
use crate::operation::{Call, Operation, Spec};
use crate::operations::NoInput;
use rookery_base::error::Result;
use rookery_base::ids::EventId;
use rookery_base::store::db::Tx;
use rookery_webhooks::redeliver;
use rookery_webhooks::webhook::Webhook;

pub struct TestWebhook;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentTest {
    /// By which the log tells what came of it.
    event_id: EventId,
}

impl Operation for TestWebhook {
    const SPEC: Spec = Spec {
        title: "Send a test event",
        about: "Sends `webhook.test` to this webhook alone, also while it is stopped. The log tells what came of it.",
        repeatable: false,
        reaches_out: true,
        ..managing(Spec::write("test_webhook", "/webhooks/{id}/test"))
    };
    type Db = Tx<'static>;
    type Target = Webhook;
    type Input = NoInput;
    type Output = SentTest;

    async fn run(call: &mut Call<'_, Tx<'static>>, webhook: Webhook, _: NoInput) -> Result<SentTest> {
        let event = redeliver::send_test_in(&mut call.db, &call.actor.by(), webhook.id).await?;
        Ok(SentTest { event_id: event })
    }
}
