//! `GET /me` (specification 4.1): who this key is.
//! It works for every valid key, so it is the first call of an integration.

use schemars::JsonSchema;
use serde::Serialize;

use super::NoInput;
use crate::operation::{Call, Nothing, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::ids::AgentId;
use rookery_base::store::db::Reading;
use rookery_core::workspace::access::Scope;
use rookery_core::workspace::agents::caps::Caps;

pub struct Me;

#[derive(Serialize, JsonSchema)]
pub struct MeOutput {
    agent: Agent,
    scopes: Vec<Scope>,
    /// False for a test key, which sees the sandbox only.
    livemode: bool,
    /// How much the agent may write in a day of the workspace's zone. Null is no limit of its own.
    limits: Caps,
}

#[derive(Serialize, JsonSchema)]
pub struct Agent {
    pub(super) id: AgentId,
    pub(super) name: String,
}

impl Operation for Me {
    const SPEC: Spec = Spec {
        has_tool: false,
        title: "Who am I",
        about: "The agent this key acts as, its scopes, and whether it works on live data or the sandbox.",
        ..Spec::read("me", "/me")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = NoInput;
    type Output = MeOutput;

    async fn run(call: &mut Call<'_, Reading>, _: Nothing, _: NoInput) -> Result<MeOutput> {
        let actor = call.actor;
        let agent = Agent { id: actor.id, name: actor.name.clone() };
        Ok(MeOutput { agent, scopes: actor.scopes.clone(), livemode: actor.livemode, limits: actor.caps })
    }
}
