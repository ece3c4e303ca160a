//! `GET /sandbox/events`: what happens in the sandbox, as it happens. For developers whose machine no webhook can
//! reach; `rookery listen` is built on it. The specification has no such endpoint, so it changes nothing there.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::waiting::EventWait;
use crate::operation::{Call, Needs, Nothing, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::store::db::NoConnection;
use rookery_core::events::read::{EventCursor, since};
use rookery_core::workspace::access::Scope;

pub struct FollowSandbox;

#[derive(Deserialize, JsonSchema)]
pub struct FollowSandboxInput {
    /// `next` of the answer before. Without it the answer is empty and only says where to begin.
    #[schemars(length(max = 8000), regex(pattern = r"^[0-9a-z]{13}(\.[0-9a-z]{13})*$"))]
    #[schemars(extend("x-says" = "must be `next` of an earlier answer"))]
    after: Option<String>,
    /// Seconds to wait for something to happen when nothing has.
    #[serde(default)]
    #[schemars(range(min = 0, max = 15))]
    wait: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct SandboxEvents {
    /// Events as test webhooks get them, oldest first, up to 100.
    events: Vec<Body>,
    /// Give this as `after` the next time.
    next: String,
}

/// A webhook's body, to the byte.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Body(pub(super) Box<RawValue>);

impl JsonSchema for Body {
    fn schema_name() -> Cow<'static, str> {
        "EventBody".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "An event, as its webhook request has it." })
    }
}

impl Operation for FollowSandbox {
    const SPEC: Spec = Spec {
        has_tool: false,
        waits: true,
        title: "Follow the sandbox's events",
        about: "Test keys only. Events of the sandbox since the last call, for development without a public address.",
        needs: Needs::TestKey(Scope::Read),
        ..Spec::read("follow_sandbox", "/sandbox/events")
    };
    type Db = NoConnection;
    type Target = Nothing;
    type Input = FollowSandboxInput;
    type Output = SandboxEvents;

    async fn run(
        call: &mut Call<'_, NoConnection>,
        _: Nothing,
        input: FollowSandboxInput,
    ) -> Result<SandboxEvents> {
        let (app, workspace) = (call.app, call.actor.workspace);
        let Some(after) = input.after.and_then(|after| after.parse::<EventCursor>().ok()) else {
            return Ok(SandboxEvents { events: Vec::new(), next: EventCursor::at(call.now()).to_string() });
        };
        let mut waiting = EventWait::begin(app, workspace, input.wait);
        loop {
            // No connection is held while waiting.
            let (bodies, next) =
                since(&mut *app.connection_of(workspace).await?, workspace, after.clone()).await?;
            if !bodies.is_empty() || waiting.is_over() {
                let events = bodies.into_iter().map(|body| RawValue::from_string(body).map(Body));
                return Ok(SandboxEvents {
                    events: events.collect::<Result<_, _>>()?,
                    next: next.to_string(),
                });
            }
            waiting.pause().await?;
        }
    }
}
