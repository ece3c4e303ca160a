//! `GET /sandbox/events`: what happens in the sandbox, as it happens. For developers whose machine no webhook can
//! reach; `rookery listen` is built on it. The specification has no such endpoint, so it changes nothing there.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::api::operation::{Call, Needs, Nothing, Operation, Spec};
use crate::error::Result;
use crate::events::read::{Cursor, since};
use crate::store::db::NoConnection;
use crate::workspace::access::Scope;

/// How often a request that waits looks again.
pub(super) const LOOK: Duration = Duration::from_millis(300);

pub struct FollowSandbox;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
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
pub struct Output {
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
    type Input = Input;
    type Output = Output;

    async fn run(call: &mut Call<'_, NoConnection>, _: Nothing, input: Input) -> Result<Output> {
        let (app, workspace) = (call.app, call.actor.workspace);
        let Some(after) = input.after.and_then(|after| after.parse::<Cursor>().ok()) else {
            return Ok(Output { events: Vec::new(), next: Cursor::at(call.now()).to_string() });
        };
        let (started, wait) = (Instant::now(), Duration::from_secs(input.wait));
        loop {
            // No connection is held while waiting.
            let (bodies, next) = since(&mut *app.connection().await?, workspace, after.clone()).await?;
            if !bodies.is_empty() || started.elapsed() >= wait || app.stop.told() {
                let events = bodies.into_iter().map(|body| RawValue::from_string(body).map(Body));
                return Ok(Output { events: events.collect::<Result<_, _>>()?, next: next.to_string() });
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
