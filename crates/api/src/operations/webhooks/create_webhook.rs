//! `POST /webhooks`: makes a webhook. It hears no more than the key sees: the sandbox for a test key, else the team's inboxes
//! or those of the key's maker. Its secret is shown here, once.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::{ScopeName, Webhook, WithSecret, managing};
use crate::input::NOT_BLANK;
use crate::operation::{Call, Nothing, Operation, Spec};
use crate::wire::Secret;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::{Handle, NoConnection, Tx};
use rookery_core::events::event::Kind;
use rookery_webhooks::create::{LONGEST_URL, WebhookParameters, create_in};
use rookery_webhooks::webhook::{self, Scope};

pub struct CreateWebhook;

#[derive(Deserialize, JsonSchema)]
pub struct CreateWebhookInput {
    /// A public https address.
    #[schemars(length(max = LONGEST_URL), regex(pattern = NOT_BLANK))]
    url: String,
    /// The kinds of event it hears; all when left out, also those to come.
    #[serde(default)]
    #[schemars(with = "Vec<EventName>", length(max = 20))]
    events: Vec<String>,
    #[serde(default)]
    scope: ScopeName,
}

struct EventName;

impl JsonSchema for EventName {
    fn schema_name() -> Cow<'static, str> {
        "EventName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Kind::NAMES })
    }
}

impl Operation for CreateWebhook {
    const SPEC: Spec = Spec {
        title: "Make a webhook",
        about: "Creates a webhook that sends events to your URL from now on. One created with a test key receives sandbox events only. The secret is shown only once. The webhook stops when the key is revoked.",
        status: 201,
        repeatable: false,
        reaches_out: true,
        secret: true,
        ..managing(Spec::write("create_webhook", "/webhooks"))
    };
    type Db = NoConnection;
    type Target = Nothing;
    type Input = CreateWebhookInput;
    type Output = WithSecret;

    async fn run(
        call: &mut Call<'_, NoConnection>,
        _: Nothing,
        input: CreateWebhookInput,
    ) -> Result<WithSecret> {
        let (app, actor) = (call.app, call.actor);
        let scope = match input.scope {
            ScopeName::Team => Scope::Team,
            ScopeName::Private if actor.livemode => Scope::Private,
            ScopeName::Private => {
                return Err(Error::problem("scope", "must be team: the sandbox has no private inboxes"));
            }
        };
        // Names are looked up before there is a transaction.
        let url = app.outside.a_public_address("url", &input.url).await?;
        let mut tx = Tx::begin(app.connection_of(actor.workspace).await?, call.db.frame().clone()).await?;
        let wanted = WebhookParameters {
            maker: actor.private_of,
            url: url.as_str(),
            livemode: actor.livemode,
            scope,
            kinds: &input.events,
        };
        let made = create_in(&mut tx, &actor.by(), &wanted).await?;
        let now = tx.now();
        let webhook = webhook::find(&mut tx, actor.workspace, made.webhook).await?;
        let output = WithSecret {
            webhook: Webhook::from_stored(webhook, now),
            secret: Secret::shown(app, made.secret),
        };
        if let Some(keyed) = call.db.frame().keyed() {
            keyed.answer(Self::SPEC.status, &serde_json::to_string(&output)?);
        }
        tx.commit().await?;
        Ok(output)
    }
}
