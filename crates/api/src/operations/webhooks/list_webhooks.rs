//! `GET /webhooks`: those that the key may manage, which are of its own mode and of private ones its maker's.
//! No secret is ever among it.

use super::{Webhook, managing};
use crate::operation::{Call, Nothing, Operation, Spec};
use crate::operations::NoInput;
use rookery_base::error::Result;
use rookery_base::store::db::Reading;
use rookery_webhooks::webhook;

pub struct ListWebhooks;

impl Operation for ListWebhooks {
    const SPEC: Spec = Spec {
        title: "List webhooks",
        about: "The webhooks that this key may manage, oldest first. At most 20 of a mode.",
        ..managing(Spec::read("list_webhooks", "/webhooks"))
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = NoInput;
    type Output = Vec<Webhook>;

    async fn run(call: &mut Call<'_, Reading>, _: Nothing, _: NoInput) -> Result<Vec<Webhook>> {
        let now = call.now();
        let all = webhook::list_open(&mut call.db, call.actor.workspace, &call.actor.by()).await?;
        Ok(all.into_iter().map(|webhook| Webhook::from_stored(webhook, now)).collect())
    }
}
