//! `GET /agents/{id}/day`: what an agent read, changed and was refused on a day, and what is left of its limits.
//! A key sees what it could read itself; days are kept for 30.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cursor::{self, ListQuery};
use crate::operation::{Call, Operation, PathSubject, Spec};
use crate::operations::list_conversations::default_limit;
use crate::operations::me::Agent;
use crate::wire::Timestamp;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentId};
use rookery_base::store::db::Snapshot;
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::agents::list::ListedAgent;
use rookery_product::replies::agents::day::{self, WantedDay};

pub struct GetAgentDay;

#[derive(Deserialize, JsonSchema)]
pub struct GetAgentDayInput {
    /// A day of the workspace's zone, such as `2026-11-17`; without it, today.
    #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"), extend("x-says" = "must be a date such as 2026-11-17"))]
    date: Option<String>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Of an earlier answer with the same parameters: the list goes on where that one ended. Only `limit` may differ.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct GetAgentDayOutput {
    agent: Agent,
    #[schemars(extend("format" = "date"))]
    date: String,
    /// The workspace's zone, which the day is of.
    zone: String,
    /// Calls that read something and changed nothing.
    reads: i64,
    /// Calls that changed something.
    writes: i64,
    /// Calls that were refused.
    refused: i64,
    /// Whether the day has 10,000 calls or more: the three numbers before are then of its newest 10,000.
    capped: bool,
    /// Messages written to leave with nobody's approval.
    sends: i64,
    /// Messages written to wait for a person.
    drafts: i64,
    limits: Caps,
    /// What may still be written today. Null where there is no limit, and on a day that is over.
    left: Caps,
    /// Newest first.
    calls: Vec<AgentCall>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentCall {
    /// Of the first one, when it was done several times within seconds.
    at: Timestamp,
    /// `read`, `searched`, `wrote` or `refused`. New values may be added.
    did: String,
    /// As tools are named. Null when it was refused before that was known.
    operation: Option<String>,
    /// The code of the answer.
    status: i16,
    times: i32,
    /// Null when it was about none, or about one that this key cannot see.
    conversation_id: Option<ConversationId>,
    document_id: Option<DocumentId>,
    /// Why it was refused, as far as the code tells it; else null.
    reason: Option<&'static str>,
}

impl Operation for GetAgentDay {
    const SPEC: Spec = Spec {
        has_tool: false,
        names: PathSubject::Agent,
        title: "Read an agent's day",
        about: "What an agent read, changed and was refused on a day, newest first, and what is left of its limits. Reads and refusals are there after a few seconds; days are kept for 30.",
        ..Spec::read("get_agent_day", "/agents/{id}/day")
    };
    type Db = Snapshot;
    type Target = ListedAgent;
    type Input = GetAgentDayInput;
    type Output = GetAgentDayOutput;

    async fn run(
        call: &mut Call<'_, Snapshot>,
        agent: ListedAgent,
        input: GetAgentDayInput,
    ) -> Result<GetAgentDayOutput> {
        let (actor, now) = (call.actor, call.now());
        let day = day::named(&mut call.db, actor.workspace, input.date.as_deref(), now).await?;
        let asked = ListQuery::new(Self::SPEC.name, (agent.id, day))?;
        let wanted = WantedDay {
            workspace: actor.workspace,
            agent: &agent,
            audiences: &actor.audiences(),
            own: actor.private_of == agent.maker,
            day,
            before: asked.place(input.cursor.as_deref())?,
            most: input.limit,
        };
        let shown = day::read(&mut call.db, &wanted, now).await?;
        call.next = shown.next.map(|place| asked.cursor(place));
        Ok(GetAgentDayOutput {
            date: day.to_string(),
            zone: shown.zone.name().to_owned(),
            reads: shown.reads,
            writes: shown.writes,
            refused: shown.refused,
            capped: shown.is_cut,
            sends: shown.sends,
            drafts: shown.drafts,
            limits: agent.caps,
            left: shown.left,
            calls: shown.calls.into_iter().map(AgentCall::from).collect(),
            agent: Agent { id: agent.id, name: agent.name },
        })
    }
}

impl From<day::ListedCall> for AgentCall {
    fn from(call: day::ListedCall) -> Self {
        Self {
            reason: call.sentence(),
            at: Timestamp(call.at),
            did: call.did,
            operation: call.operation,
            status: call.status,
            times: call.times,
            conversation_id: call.conversation,
            document_id: call.document,
        }
    }
}
