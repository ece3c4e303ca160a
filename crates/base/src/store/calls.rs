//! What agents asked for (docs/decisions/agents-day.md). A change is a row of the transaction that makes it. What was read or
//! refused is noted in memory, at no statement of the request, and written down every few seconds: a node that is killed
//! forgets that much. Neither holds a word of the request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::{AgentCallId, AgentId, ConversationId, DocumentId, Id, WorkspaceId, lowest_at};
use crate::random::Random;

/// Calls of different kinds that a node remembers. More are told without what they were about, and above twice as many not
/// at all.
const MOST: usize = 50_000;
/// Rows of one statement.
const AT_ONCE: usize = 1_000;

crate::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Did {
        Read = "read",
        /// Looked for words; which ones is not kept.
        Searched = "searched",
        Wrote = "wrote",
        Refused = "refused",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    Nothing,
    Conversation(ConversationId),
    Document(DocumentId),
}

impl About {
    fn columns(self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Nothing => (None, None),
            Self::Conversation(id) => (Some(id.0), None),
            Self::Document(id) => (None, Some(id.0)),
        }
    }
}

/// A call of an agent, and how it ended. Calls that are the same are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentCall {
    pub workspace: WorkspaceId,
    pub agent: AgentId,
    pub did: Did,
    /// Empty when it was refused before anybody knew.
    pub operation: &'static str,
    pub status: u16,
    pub about: About,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedCall {
    pub call: AgentCall,
    pub first: DateTime<Utc>,
    pub times: i32,
}

/// What waits to be written down.
#[derive(Default)]
pub struct AgentCalls(Mutex<HashMap<AgentCall, CountedCall>>);

impl AgentCalls {
    pub fn note(&self, call: AgentCall, now: DateTime<Utc>) {
        add(&mut self.calls(), CountedCall { call, first: now, times: 1 });
    }

    /// Workspaces of which something waits.
    pub fn workspaces(&self) -> Vec<WorkspaceId> {
        let mut all: Vec<_> = self.calls().keys().map(|call| call.workspace).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub fn take(&self, workspace: WorkspaceId) -> Vec<CountedCall> {
        self.calls().extract_if(|call, _| call.workspace == workspace).map(|(_, counted)| counted).collect()
    }

    /// What could not be written.
    pub fn give_back(&self, counted: Vec<CountedCall>) {
        let mut calls = self.calls();
        counted.into_iter().for_each(|counted| add(&mut calls, counted));
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<AgentCall, CountedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(calls: &mut HashMap<AgentCall, CountedCall>, mut counted: CountedCall) {
    if calls.len() >= MOST && !calls.contains_key(&counted.call) {
        counted.call.about = About::Nothing;
        if calls.len() >= 2 * MOST && !calls.contains_key(&counted.call) {
            return;
        }
    }
    calls
        .entry(counted.call)
        .and_modify(|held| {
            held.first = held.first.min(counted.first);
            held.times = held.times.saturating_add(counted.times);
        })
        .or_insert(counted);
}

/// Writes down what was read and refused. Ids are of the times of the calls.
pub async fn write(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    random: &Random,
    counted: &[CountedCall],
) -> Result<()> {
    for some in counted.chunks(AT_ONCE) {
        let noise = random.number() >> 43;
        let ids: Vec<i64> = some
            .iter()
            .zip(noise..)
            .map(|(counted, noise)| lowest_at(counted.first) | (noise & ((1 << 22) - 1)) as i64)
            .collect();
        let agents: Vec<i64> = some.iter().map(|counted| counted.call.agent.0).collect();
        let did: Vec<String> = some.iter().map(|counted| counted.call.did.as_str().to_owned()).collect();
        let operations: Vec<String> = some.iter().map(|counted| counted.call.operation.to_owned()).collect();
        let statuses: Vec<i16> = some.iter().map(|counted| counted.call.status as i16).collect();
        let (conversations, documents): (Vec<_>, Vec<_>) =
            some.iter().map(|counted| counted.call.about.columns()).unzip();
        let times: Vec<i32> = some.iter().map(|counted| counted.times).collect();
        sqlx::query!(
            "insert into agent_calls
                 (workspace_id, agent_id, id, did, operation, status, conversation_id, document_id, times)
             select $1, agent, id, did, operation, status, conversation, document, times
             from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::smallint[], $7::bigint[],
                         $8::bigint[], $9::integer[])
                 noted(agent, id, did, operation, status, conversation, document, times)
             on conflict do nothing",
            workspace.0,
            &agents,
            &ids,
            &did,
            &operations,
            &statuses,
            &conversations as &[Option<i64>],
            &documents as &[Option<i64>],
            &times
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// A call that changes something: its row is of the first transaction that commits.
pub struct Writing {
    call: AgentCall,
    written: AtomicBool,
}

impl Writing {
    pub fn new(call: AgentCall) -> Self {
        Self { call: AgentCall { did: Did::Wrote, ..call }, written: AtomicBool::new(false) }
    }

    pub(super) async fn write(
        &self,
        conn: &mut PgConnection,
        now: DateTime<Utc>,
        random: &Random,
    ) -> Result<()> {
        if self.written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let (call, (conversation, document)) = (&self.call, self.call.about.columns());
        sqlx::query!(
            "insert into agent_calls
                 (workspace_id, agent_id, id, did, operation, status, conversation_id, document_id, times)
             values ($1, $2, $3, 'wrote', $4, $5, $6, $7, 1) on conflict do nothing",
            call.workspace.0,
            call.agent.0,
            AgentCallId::mint(now, random).0,
            call.operation,
            call.status as i16,
            conversation,
            document
        )
        .execute(conn)
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(agent: i64, about: i64) -> AgentCall {
        AgentCall {
            workspace: WorkspaceId(agent % 2),
            agent: AgentId(agent),
            did: Did::Read,
            operation: "get_conversation",
            status: 200,
            about: About::Conversation(ConversationId(about)),
        }
    }

    #[test]
    fn the_same_call_is_counted_and_a_workspace_is_taken_whole() {
        let (calls, now) = (AgentCalls::default(), DateTime::UNIX_EPOCH);
        for _ in 0..1_000 {
            calls.note(call(2, 7), now);
            calls.note(call(3, 7), now);
        }
        assert_eq!(calls.workspaces(), [WorkspaceId(0), WorkspaceId(1)]);
        let taken = calls.take(WorkspaceId(0));
        assert_eq!(taken, [CountedCall { call: call(2, 7), first: now, times: 1_000 }]);
        assert_eq!(calls.workspaces(), [WorkspaceId(1)]);
        calls.note(call(2, 7), now);
        calls.give_back(taken);
        assert_eq!(calls.take(WorkspaceId(0))[0].times, 1_001);
    }

    /// As many ids as somebody can make up.
    #[test]
    fn a_flood_of_different_calls_is_counted_and_takes_no_more_memory() {
        let (calls, now) = (AgentCalls::default(), DateTime::UNIX_EPOCH);
        for about in 0..3 * MOST as i64 {
            calls.note(call(2, about), now);
        }
        for agent in 0..3 * MOST as i64 {
            calls.note(call(agent, -1), now);
        }
        assert_eq!(calls.calls().len(), 2 * MOST);
        let taken = calls.take(WorkspaceId(0));
        let of_one: i32 = taken
            .iter()
            .filter(|counted| counted.call.agent == AgentId(2))
            .map(|counted| counted.times)
            .sum();
        assert_eq!(of_one, 3 * MOST as i32 + 1, "nothing of it is lost");
    }
}
