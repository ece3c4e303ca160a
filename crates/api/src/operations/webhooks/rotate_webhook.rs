//! `POST /webhooks/{id}/rotate`: a new secret, shown once.
//! For a day the old one signs too.

use super::{WithSecret, managing};
use crate::operation::{Call, Operation, Spec};
use crate::operations::NoInput;
use crate::wire::Secret;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_webhooks::manage;
use rookery_webhooks::webhook::{self, Webhook};

pub struct RotateWebhook;

impl Operation for RotateWebhook {
    const SPEC: Spec = Spec {
        title: "Rotate a webhook's secret",
        about: "A new secret, shown this once. For 24 hours every request carries signatures of both.",
        repeatable: false,
        secret: true,
        ..managing(Spec::write("rotate_webhook", "/webhooks/{id}/rotate"))
    };
    type Db = Tx<'static>;
    type Target = Webhook;
    type Input = NoInput;
    type Output = WithSecret;

    async fn run(call: &mut Call<'_, Tx<'static>>, webhook: Webhook, _: NoInput) -> Result<WithSecret> {
        let made = manage::rotate_in(&mut call.db, &call.actor.by(), webhook.id).await?;
        let now = call.now();
        let webhook = webhook::find(&mut call.db, call.actor.workspace, made.webhook).await?;
        let secret = Secret::shown(call.app, made.secret);
        Ok(WithSecret { webhook: super::Webhook::from_stored(webhook, now), secret })
    }
}
