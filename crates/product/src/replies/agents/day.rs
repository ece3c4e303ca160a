//! An agent's day, as somebody may know it: what it read, what it changed and what it was refused, newest first, with the
//! numbers of the day. A day of very many calls is read in parts, and its numbers are those of the newest calls. What it read or changed in a private inbox is there for those who see that inbox; a refusal is there
//! for everybody who may look, without what it was about where they cannot see that.

use chrono::{DateTime, Days, NaiveDate, Utc};
use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentId, WorkspaceId, lowest_at, made_at};
use rookery_base::zone::Zone;
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::agents::days;
use rookery_core::workspace::agents::list::ListedAgent;

/// Calls that one look reads, for its numbers and for a part of the list.
pub const MOST_READ: i64 = 10_000;

/// Whose day, and which.
pub struct WantedDay<'a> {
    pub workspace: WorkspaceId,
    pub agent: &'a ListedAgent,
    /// Of whoever looks.
    pub audiences: &'a [i64],
    /// Whoever looks made the key, or is it.
    pub own: bool,
    pub day: NaiveDate,
    /// Calls before this one.
    pub before: Option<i64>,
    pub most: i64,
}

#[derive(Debug)]
pub struct AgentDay {
    pub zone: Zone,
    pub is_today: bool,
    pub reads: i64,
    pub writes: i64,
    pub refused: i64,
    /// The three numbers before are of the newest [`MOST_READ`] calls, for the day has more.
    pub is_cut: bool,
    pub sends: i64,
    pub drafts: i64,
    /// Of its limits, on the day it is.
    pub left: Caps,
    pub calls: Vec<ListedCall>,
    /// Where the list goes on, when there is more.
    pub next: Option<i64>,
}

/// The numbers of what was read.
struct Numbers {
    reads: i64,
    writes: i64,
    refused: i64,
    is_cut: bool,
}

#[derive(Debug)]
pub struct ListedCall {
    /// Its place among the others.
    pub id: i64,
    pub at: DateTime<Utc>,
    /// `read`, `searched`, `wrote`, `refused`
    pub did: String,
    /// Nothing when it was refused before anybody knew.
    pub operation: Option<String>,
    pub status: i16,
    pub times: i32,
    pub conversation: Option<ConversationId>,
    pub subject: Option<String>,
    pub document: Option<DocumentId>,
    pub title: Option<String>,
}

impl ListedCall {
    pub fn is_refused(&self) -> bool {
        self.did == "refused"
    }

    /// Why, as far as the code tells it.
    pub fn sentence(&self) -> Option<&'static str> {
        let sentence = match (self.status, &self.operation) {
            _ if !self.is_refused() => return None,
            (400, _) => "Something was missing from it or not allowed in it.",
            (403, _) => "The key may not do this, or every agent was stopped.",
            (404, _) => "There is no such thing, or none that the key can see.",
            (405, _) => "That method is not offered there.",
            (409, _) => "Something stood against it that has to be ended first.",
            (413, _) => "It was too large.",
            (422, _) => "It could be understood, and not be done as it was.",
            (429, Some(_)) => {
                "A limit was reached: what the agent may write in a day, or what the sandbox takes."
            }
            (429, None) => "It asked more often in a minute than a key may.",
            _ => "It was refused.",
        };
        Some(sentence)
    }
}

/// The day that a text names; without one, today.
pub async fn named(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    text: Option<&str>,
    now: DateTime<Utc>,
) -> Result<NaiveDate> {
    match text {
        None => Ok(Zone::load(conn, workspace).await?.day(now)),
        Some(text) => text.parse().map_err(|_| Error::problem("date", "must be a date such as 2026-11-17")),
    }
}

pub async fn read(conn: &mut PgConnection, wanted: &WantedDay<'_>, now: DateTime<Utc>) -> Result<AgentDay> {
    let zone = Zone::load(&mut *conn, wanted.workspace).await?;
    let begins = wanted.day.checked_sub_days(Days::new(1)).and_then(|before| zone.end_of(before));
    let span =
        begins.zip(zone.end_of(wanted.day)).ok_or_else(|| Error::problem("date", "is too far away"))?;
    let (from, to) = (lowest_at(span.0), lowest_at(span.1));
    let numbers = numbers(&mut *conn, wanted, from, to).await?;
    let (calls, next) = calls(&mut *conn, wanted, from, wanted.before.unwrap_or(to).min(to)).await?;
    let (team, private) = days::used_on(&mut *conn, wanted.workspace, wanted.agent.id, wanted.day).await?;
    let all = team.and(private);
    let shown = if wanted.own { all } else { team };
    let is_today = zone.day(now) == wanted.day;
    Ok(AgentDay {
        is_today,
        reads: numbers.reads,
        writes: numbers.writes,
        refused: numbers.refused,
        is_cut: numbers.is_cut,
        sends: shown.sends.into(),
        drafts: shown.drafts.into(),
        left: if is_today { wanted.agent.caps.left(all) } else { Caps::default() },
        calls,
        next,
        zone,
    })
}

async fn numbers(conn: &mut PgConnection, wanted: &WantedDay<'_>, from: i64, to: i64) -> Result<Numbers> {
    Ok(sqlx::query_as!(
        Numbers,
        r#"with newest as materialized (
               select did, conversation_id, document_id, times from agent_calls
               where workspace_id = $1 and agent_id = $2 and id >= $4 and id < $5 order by id desc limit $6)
           select coalesce(sum(times) filter (where did in ('read', 'searched')), 0)::bigint as "reads!",
                  coalesce(sum(times) filter (where did = 'wrote'), 0)::bigint as "writes!",
                  coalesce(sum(times) filter (where did = 'refused'), 0)::bigint as "refused!",
                  (select count(*) from newest) >= $6 as "is_cut!"
           from (select did, conversation_id, document_id, sum(times) as times from newest
                 group by did, conversation_id, document_id) a
           where did = 'refused' or (conversation_id is null and document_id is null)
              or exists (select from conversations
                         where workspace_id = $1 and audience = any($3)
                           and id = coalesce((select into_id from merged_conversations
                                              where workspace_id = $1 and id = a.conversation_id), a.conversation_id))
              or exists (select from documents
                         where workspace_id = $1 and id = a.document_id and audience = any($3))"#,
        wanted.workspace.0,
        wanted.agent.id.0,
        wanted.audiences,
        from,
        to,
        MOST_READ
    )
    .fetch_one(conn)
    .await?)
}

/// A part of the list, and where it goes on. Among very many calls that the viewer cannot see there may be few or none in a part.
async fn calls(
    conn: &mut PgConnection,
    wanted: &WantedDay<'_>,
    from: i64,
    to: i64,
) -> Result<(Vec<ListedCall>, Option<i64>)> {
    let rows = sqlx::query!(
        r#"select a.id as "id!", did as "did!", operation as "operation!", status as "status!", times as "times!",
                  c.id as "conversation?: ConversationId", c.subject as "subject?",
                  d.id as "document?: DocumentId", d.title as "title?"
           from (select * from agent_calls
                 where workspace_id = $1 and agent_id = $2 and id >= $4 and id < $5 order by id desc limit $7) a
           left join lateral (select id, subject from conversations
                              where workspace_id = $1 and audience = any($3)
                                and id = coalesce((select into_id from merged_conversations
                                                   where workspace_id = $1 and id = a.conversation_id),
                                                  a.conversation_id) offset 0) c on true
           left join lateral (select id, title from documents
                              where workspace_id = $1 and id = a.document_id and audience = any($3) offset 0) d on true
           where did = 'refused' or (a.conversation_id is null and a.document_id is null)
              or c.id is not null or d.id is not null
           order by a.id desc limit $6"#,
        wanted.workspace.0,
        wanted.agent.id.0,
        wanted.audiences,
        from,
        to,
        // One more tells whether there is more.
        wanted.most + 1,
        MOST_READ
    )
    .fetch_all(&mut *conn)
    .await?;
    let is_full = rows.len() as i64 > wanted.most;
    let calls = rows.into_iter().take(wanted.most as usize).map(|row| ListedCall {
        id: row.id,
        at: made_at(row.id),
        did: row.did,
        operation: Some(row.operation).filter(|operation| !operation.is_empty()),
        status: row.status,
        times: row.times,
        conversation: row.conversation,
        subject: row.subject,
        document: row.document,
        title: row.title,
    });
    let calls: Vec<ListedCall> = calls.collect();
    if is_full {
        let next = calls.last().map(|last| last.id);
        return Ok((calls, next));
    }
    let read_to = sqlx::query_scalar!(
        "select id from agent_calls where workspace_id = $1 and agent_id = $2 and id >= $3 and id < $4
         order by id desc offset $5 limit 1",
        wanted.workspace.0,
        wanted.agent.id.0,
        from,
        to,
        MOST_READ - 1
    )
    .fetch_optional(conn)
    .await?;
    Ok((calls, read_to))
}
