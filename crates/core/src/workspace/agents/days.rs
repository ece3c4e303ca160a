//! What an agent wrote by day and what became of it, counted in the transaction that does it; and the caps of a day,
//! which look at the same row: so they are exact, whatever runs at the same time.

use std::collections::HashMap;

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::workspace::agents::caps::{Caps, Used};
use rookery_base::error::Result;
use rookery_base::ids::{AgentId, ConversationId, MessageId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;
use rookery_base::zone::Zone;

/// What the page of an agent shows.
pub const SHOWN_DAYS: u64 = 30;
/// What is kept: days for a year, single messages as long as they are shown.
const KEPT_DAYS: TimeDelta = TimeDelta::days(400);
const KEPT_MESSAGES: TimeDelta = TimeDelta::days(SHOWN_DAYS as i64);
const AT_ONCE: i64 = 1_000;

/// What happened to a message of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMessageFate {
    Approved,
    /// Approved, and changed before.
    Edited,
    Discarded,
    Sent,
}

/// Counts of a day, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    pub drafted: i64,
    /// Written to leave by itself, with nobody's approval.
    pub scheduled: i64,
    pub approved: i64,
    pub edited: i64,
    pub discarded: i64,
    pub sent: i64,
}

/// Counts a message that an agent writes, and refuses it when the agent has written enough today. What is undone or thrown
/// away later stays counted.
pub async fn written(
    tx: &mut Tx<'_>,
    agent: AgentId,
    audience: i64,
    conversation: ConversationId,
    message: MessageId,
    scheduled: bool,
) -> Result<()> {
    let (workspace, now, private) = (tx.workspace(), tx.now(), audience > 0);
    let zone = Zone::load(tx, workspace).await?;
    let drafted = i32::from(!scheduled);
    let row = sqlx::query!(
        r#"with noted as (
               insert into agent_messages (workspace_id, agent_id, audience, message_id, conversation_id, at)
               values ($1, $2, $4, $5, $6, $3)),
           counted as (
               insert into agent_days as d
                   (workspace_id, agent_id, day, drafted, scheduled, private_drafted, private_scheduled)
               select $1, $2, $9, case when $8 then 0 else $7 end, case when $8 then 0 else 1 - $7 end,
                      case when $8 then $7 else 0 end, case when $8 then 1 - $7 else 0 end
               on conflict (workspace_id, agent_id, day) do update
                   set drafted = d.drafted + excluded.drafted, scheduled = d.scheduled + excluded.scheduled,
                       private_drafted = d.private_drafted + excluded.private_drafted,
                       private_scheduled = d.private_scheduled + excluded.private_scheduled
               returning drafted + private_drafted as drafts, scheduled + private_scheduled as sends)
           select (select sends from counted) as "sends!", (select drafts from counted) as "drafts!",
                  daily_sends, daily_drafts, daily_cap
           from agents where workspace_id = $1 and id = $2"#,
        workspace.0,
        agent.0,
        now,
        audience,
        message.0,
        conversation.0,
        drafted,
        private,
        zone.day(now)
    )
    .fetch_one(&mut **tx)
    .await?;
    let caps = Caps { sends: row.daily_sends, drafts: row.daily_drafts, messages: row.daily_cap };
    let used = Used { sends: row.sends, drafts: row.drafts };
    caps.hold(used, scheduled, zone.name(), zone.midnight_after(now) - now)
}

/// Counts what became of a message of an agent.
pub async fn count(tx: &mut Tx<'_>, agent: AgentId, audience: i64, what: AgentMessageFate) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let day = today(tx, workspace, now).await?;
    let one = |is: AgentMessageFate, private: bool| i32::from(is == what && private == (audience > 0));
    sqlx::query!(
        "insert into agent_days as d
             (workspace_id, agent_id, day, approved, edited, discarded, sent, private_approved, private_edited,
              private_discarded, private_sent)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (workspace_id, agent_id, day) do update
             set approved = d.approved + excluded.approved, edited = d.edited + excluded.edited,
                 discarded = d.discarded + excluded.discarded, sent = d.sent + excluded.sent,
                 private_approved = d.private_approved + excluded.private_approved,
                 private_edited = d.private_edited + excluded.private_edited,
                 private_discarded = d.private_discarded + excluded.private_discarded,
                 private_sent = d.private_sent + excluded.private_sent",
        workspace.0,
        agent.0,
        day,
        one(AgentMessageFate::Approved, false),
        one(AgentMessageFate::Edited, false),
        one(AgentMessageFate::Discarded, false),
        one(AgentMessageFate::Sent, false),
        one(AgentMessageFate::Approved, true),
        one(AgentMessageFate::Edited, true),
        one(AgentMessageFate::Discarded, true),
        one(AgentMessageFate::Sent, true)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A day, and what the viewer may know of it.
#[derive(Clone, Copy, Debug)]
pub struct CountedDay {
    pub day: NaiveDate,
    pub did: Numbers,
}

/// The last 30 days of the workspace's zone, oldest first, also those on which nothing happened. Private inboxes count
/// for the maker of the key alone.
pub async fn lately(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    viewer: PersonId,
    agents: &[AgentId],
    now: DateTime<Utc>,
) -> Result<Vec<(AgentId, CountedDay)>> {
    let asked: Vec<i64> = agents.iter().map(|agent| agent.0).collect();
    let today = today(&mut *conn, workspace, now).await?;
    let first = today - Days::new(SHOWN_DAYS - 1);
    let rows = sqlx::query!(
        r#"select d.agent_id as "agent!: AgentId", d.day as "day!", a.maker_id = $3 as "own!", d.drafted, d.scheduled,
               d.approved, d.edited, d.discarded, d.sent, d.private_drafted, d.private_scheduled, d.private_approved,
               d.private_edited, d.private_discarded, d.private_sent
           from unnest($2::bigint[]) asked(id)
           join agents a on a.workspace_id = $1 and a.id = asked.id
           cross join lateral (select * from agent_days
                               where workspace_id = $1 and agent_id = asked.id and day >= $4 and day <= $5 offset 0) d"#,
        workspace.0,
        &asked,
        viewer.0,
        first,
        today
    )
    .fetch_all(conn)
    .await?;
    let counted: HashMap<(AgentId, NaiveDate), Numbers> = rows
        .into_iter()
        .map(|row| {
            let with =
                |team: i32, private: i32| i64::from(team) + if row.own { i64::from(private) } else { 0 };
            let did = Numbers {
                drafted: with(row.drafted, row.private_drafted),
                scheduled: with(row.scheduled, row.private_scheduled),
                approved: with(row.approved, row.private_approved),
                edited: with(row.edited, row.private_edited),
                discarded: with(row.discarded, row.private_discarded),
                sent: with(row.sent, row.private_sent),
            };
            ((row.agent, row.day), did)
        })
        .collect();
    let of = |agent: AgentId| {
        let counted = &counted;
        first.iter_days().take(SHOWN_DAYS as usize).map(move |day| {
            let did = counted.get(&(agent, day)).copied().unwrap_or_default();
            (agent, CountedDay { day, did })
        })
    };
    Ok(agents.iter().flat_map(|agent| of(*agent)).collect())
}

/// The day it is in the workspace's zone.
async fn today(conn: &mut PgConnection, workspace: WorkspaceId, now: DateTime<Utc>) -> Result<NaiveDate> {
    Ok(Zone::load(conn, workspace).await?.day(now))
}

impl std::iter::Sum for Numbers {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            drafted: sum.drafted + one.drafted,
            scheduled: sum.scheduled + one.scheduled,
            approved: sum.approved + one.approved,
            edited: sum.edited + one.edited,
            discarded: sum.discarded + one.discarded,
            sent: sum.sent + one.sent,
        })
    }
}

/// What counts against its caps on a day, in team inboxes and in private ones.
pub async fn used_on(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    agent: AgentId,
    day: NaiveDate,
) -> Result<(Used, Used)> {
    let row = sqlx::query!(
        "select scheduled, drafted, private_scheduled, private_drafted
         from agent_days where workspace_id = $1 and agent_id = $2 and day = $3",
        workspace.0,
        agent.0,
        day
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or_else(Default::default, |row| {
        let private = Used { sends: row.private_scheduled, drafts: row.private_drafted };
        (Used { sends: row.scheduled, drafts: row.drafted }, private)
    }))
}

/// The same today and of both, whatever the viewer may see of what was written: the agent is told the same.
pub async fn used_today(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    agent: AgentId,
    now: DateTime<Utc>,
) -> Result<Used> {
    let today = today(&mut *conn, workspace, now).await?;
    let (team, private) = used_on(conn, workspace, agent, today).await?;
    Ok(team.and(private))
}

/// Forgets what is not shown any more.
pub async fn forget_days(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "agent_days", "day", (now - KEPT_DAYS).date_naive(), AT_ONCE)
}

pub async fn forget_messages(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "agent_messages", "at", now - KEPT_MESSAGES, AT_ONCE)
}
