//! `POST /webhooks/{id}/redeliver`: an event of the log once more, with its id and its very bytes.
//! What this webhook never heard of is not in its log.

use schemars::JsonSchema;
use serde::Deserialize;

use super::managing;
use crate::operation::{Call, Operation, Spec};
use crate::operations::OkOutput;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_webhooks::redeliver::{self, NOT_LOGGED};
use rookery_webhooks::webhook::Webhook;

pub struct Redeliver;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedeliverInput {
    /// As the log names it.
    #[schemars(regex(pattern = "^evt_[0-9a-z]+$"), extend("x-says" = "must be an event's id"))]
    event_id: String,
}

impl Operation for Redeliver {
    const SPEC: Spec = Spec {
        title: "Send an event again",
        about: "Sends an event of this webhook's log once more, with the same id and bytes. The webhook has to be active.",
        repeatable: false,
        reaches_out: true,
        ..managing(Spec::write("redeliver", "/webhooks/{id}/redeliver"))
    };
    type Db = Tx<'static>;
    type Target = Webhook;
    type Input = RedeliverInput;
    type Output = OkOutput;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        webhook: Webhook,
        input: RedeliverInput,
    ) -> Result<OkOutput> {
        let event = input.event_id.parse().map_err(|_| NOT_LOGGED)?;
        redeliver::redeliver_in(&mut call.db, &call.actor.by(), webhook.id, event).await?;
        Ok(OkOutput::ok())
    }
}
