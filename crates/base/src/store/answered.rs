//! Requests that carry an Idempotency-Key, and what was answered to them: the answer is a row of the transaction that did
//! what was asked, so neither is ever there without the other (docs/decisions/repeating.md).
//!
//! Requests with the same key take turns by a lock of the database. Whoever comes second finds the answer, or does the work
//! because the first one's was taken back. An error is no answer.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::ids::{AgentId, AnsweredId, Id, WorkspaceId, lowest_at};
use crate::random::Random;
use crate::secrets::hashes::{number, sha256};
use crate::secrets::key_ring::KeyRing;
use crate::secrets::sealed;

/// How long a key is remembered.
const KEPT: TimeDelta = TimeDelta::hours(24);
/// Clocks of nodes differ, but never by this much: so no day ahead is looked through.
const AHEAD: TimeDelta = TimeDelta::hours(1);
const PURPOSE: &str = "an answer";

/// A request that is carried out once, however often it comes.
pub struct Keyed {
    workspace: WorkspaceId,
    agent: AgentId,
    key_hash: [u8; 32],
    request_hash: [u8; 32],
    /// The answer opens something, so it is stored sealed.
    secret: bool,
    state: Mutex<AnswerState>,
}

#[derive(Default)]
struct AnswerState {
    answer: Option<(u16, String)>,
    remembered: bool,
}

impl Keyed {
    /// `request` is everything that was asked, so that another request with the same key is told from a repeat.
    pub fn new(
        workspace: WorkspaceId,
        agent: AgentId,
        key: &str,
        request: [u8; 32],
        secret: bool,
    ) -> Arc<Self> {
        let (key_hash, state) = (sha256(key), Mutex::default());
        Arc::new(Self { workspace, agent, key_hash, request_hash: request, secret, state })
    }

    /// What the request is answered with. It has to be said before the transaction ends.
    pub fn answer(&self, status: u16, body: &str) {
        self.state().answer = Some((status, body.to_owned()));
    }

    /// A transaction has written the answer down.
    pub fn is_remembered(&self) -> bool {
        self.state().remembered
    }

    /// The statement that waits for a request with the same key. It travels with BEGIN. Two numbers are another kind of lock
    /// than one, which is a workspace's.
    pub(super) fn taking_turns(&self) -> String {
        let of = [&self.workspace.0.to_be_bytes()[..], &self.agent.0.to_be_bytes(), &self.key_hash].concat();
        let lock = number(sha256(of));
        format!("select pg_advisory_xact_lock({}, {})", (lock >> 32) as i32, lock as i32)
    }

    /// Refuses a request that was answered before, with its answer.
    pub(super) async fn refuse_repeat(
        &self,
        conn: &mut PgConnection,
        keys: Option<&KeyRing>,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let row = sqlx::query!(
            "select id, request_hash, status, answer, sealed from answered_requests
             where workspace_id = $1 and agent_id = $2 and key_hash = $3 and id >= $4 and id < $5
             order by id desc limit 1",
            self.workspace.0,
            self.agent.0,
            &self.key_hash,
            lowest_at(now - KEPT),
            lowest_at(now + AHEAD)
        )
        .fetch_optional(conn)
        .await?;
        let Some(row) = row else { return Ok(()) };
        if row.request_hash != self.request_hash {
            return Err(Error::Unprocessable(
                "This Idempotency-Key was used for another request. Take a new key for each request.",
            ));
        }
        let body = match (row.answer, row.sealed, keys) {
            (Some(answer), ..) => Some(answer),
            (None, Some(sealed), Some(keys)) => {
                let context = sealed::place(self.workspace, AnsweredId(row.id));
                let opened = sealed::opened_by(keys, PURPOSE, &context, &sealed)?;
                opened.and_then(|(_, body)| String::from_utf8(body).ok())
            }
            _ => None,
        };
        let gone = || Error::Conflict("This was done before. Its answer is not kept any more.".to_owned());
        Err(Error::AnsweredBefore { status: row.status as u16, body: body.ok_or_else(gone)? })
    }

    /// Writes the answer down, in the transaction that did what was asked.
    pub(super) async fn remember(
        &self,
        conn: &mut PgConnection,
        keys: Option<&KeyRing>,
        now: DateTime<Utc>,
        random: &Random,
    ) -> Result<()> {
        let answer = self.state().answer.clone();
        // Otherwise it would be done again when the request comes again.
        let (status, body) =
            answer.ok_or_else(|| Error::internal("a request with a key ends without its answer"))?;
        let id = AnsweredId::mint(now, random);
        let (body, sealed) = match (self.secret, keys) {
            (false, _) => (Some(body), None),
            (true, Some(keys)) => {
                let context = sealed::place(self.workspace, id);
                (None, Some(sealed::seal(keys, random, PURPOSE, &context, body.as_bytes())?))
            }
            (true, None) => return Err(KeyRing::missing()),
        };
        sqlx::query!(
            "insert into answered_requests
                 (workspace_id, agent_id, key_hash, id, request_hash, status, answer, sealed)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            self.workspace.0,
            self.agent.0,
            &self.key_hash,
            id.0,
            &self.request_hash,
            status as i16,
            body,
            sealed
        )
        .execute(conn)
        .await?;
        self.state().remembered = true;
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, AnswerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers that name somebody who is erased go, and so do those that cannot be read here. That there was one stays, so that
/// nothing is done twice.
pub async fn erase(conn: &mut PgConnection, workspace: WorkspaceId, address: &str) -> Result<()> {
    let written = serde_json::to_string(address)?;
    sqlx::query!(
        "update answered_requests set answer = null, sealed = null
         where workspace_id = $1 and (sealed is not null or position($2 in lower(answer)) > 0)",
        workspace.0,
        written.trim_matches('"')
    )
    .execute(conn)
    .await?;
    Ok(())
}
