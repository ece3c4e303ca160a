//! Events in the order in which they can be read, by a number that each gets when it is fanned out (`GET /events`,
//! docs/decisions/feed.md). A reader goes on from the last number it had: nothing comes before it later, however long the
//! transaction took that recorded it.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::events::take::Notes;
use crate::workspace::access::Actor;
use rookery_base::error::Result;
use rookery_base::ids::lowest_at;
use rookery_base::random::Random;

/// The most that two numbers of one batch are apart. Their distance is chance, so that it does not tell what lies between.
const FAR: u64 = 512;
/// Events that are looked through for the kinds that were asked for.
const WALKED: i64 = 2_000;
/// Numbers are given by the clocks of nodes. No day ahead of them has any.
const AHEAD: TimeDelta = TimeDelta::hours(1);

/// Gives numbers to events whose notes were taken, in the same transaction. It holds the heads of their workspaces until then:
/// in the order of their ids, and before anything else is locked.
pub async fn append(
    conn: &mut PgConnection,
    notes: &Notes,
    now: DateTime<Utc>,
    random: &Random,
) -> Result<()> {
    let mut newest_first: Vec<usize> = (0..notes.events.len()).collect();
    newest_first.sort_unstable_by_key(|&at| (notes.workspaces[at], -notes.events[at]));
    // How far each lies before the newest of its workspace.
    let mut spans: BTreeMap<i64, i64> = BTreeMap::new();
    let mut back = vec![0; notes.events.len()];
    for at in newest_first {
        let span = spans.entry(notes.workspaces[at]).or_default();
        back[at] = *span;
        *span += 1 + (random.number() % FAR) as i64;
    }
    let (workspaces, spans): (Vec<i64>, Vec<i64>) = spans.into_iter().unzip();
    sqlx::query!(
        "with heads as (
             insert into event_feed_heads as head (workspace_id, newest)
             select workspace_id, $1::bigint + span from unnest($2::bigint[], $3::bigint[]) as batch (workspace_id, span)
             order by workspace_id
             on conflict (workspace_id) do update set newest = greatest(head.newest, $1) + excluded.newest - $1
             returning workspace_id, newest)
         insert into event_feed (workspace_id, audience, id, event_id, kind)
         select workspace_id, event.audience, heads.newest - event.back, event.event_id, event.kind
         from unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
                  as event (workspace_id, audience, back, event_id, kind)
         join heads using (workspace_id)",
        lowest_at(now),
        &workspaces,
        &spans,
        &notes.workspaces,
        &notes.audiences,
        &back,
        &notes.events,
        &notes.kinds
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The newest number that somebody can see: whoever begins here hears of what comes next. What happens where they cannot look
/// does not move it.
pub async fn head(conn: &mut PgConnection, who: &Actor, now: DateTime<Utc>) -> Result<i64> {
    let newest = sqlx::query_scalar!(
        "select max(branch.id) from unnest($2::bigint[]) seen(audience)
         cross join lateral (
             select id from event_feed
             where workspace_id = $1 and event_feed.audience = seen.audience and id < $3
             order by id desc limit 1) branch",
        who.workspace.0,
        &who.audiences(),
        lowest_at(now + AHEAD)
    )
    .fetch_one(conn)
    .await?;
    Ok(newest.unwrap_or_default())
}

/// Events after a number.
pub struct EventsPage {
    pub bodies: Vec<String>,
    /// Where to go on.
    pub next: i64,
    /// It was looked through as many as a page may, and there may be more right behind.
    pub cut: bool,
}

/// The next events that somebody can see, of these kinds or of all. It costs the same however many there are.
pub async fn after(
    conn: &mut PgConnection,
    who: &Actor,
    number: i64,
    kinds: Option<&[String]>,
    limit: i64,
    now: DateTime<Utc>,
) -> Result<EventsPage> {
    let depth = if kinds.is_some() { WALKED } else { limit };
    let row = sqlx::query!(
        r#"with walked as materialized (
               select branch.id, branch.event_id, branch.kind
               from unnest($2::bigint[]) seen(audience)
               cross join lateral (
                   select id, event_id, kind from event_feed
                   where workspace_id = $1 and event_feed.audience = seen.audience and id > $3 and id < $4
                   order by id limit $5) branch
               order by branch.id limit $5),
           hits as materialized (
               select id, event_id from walked where $6::text[] is null or kind = any($6) order by id limit $7)
           select (select count(*) from walked) as "walked!", (select max(id) from walked) as newest,
                  (select max(id) from hits) as last_hit, (select count(*) from hits) as "hits!",
                  array(select body from hits cross join lateral (
                            select body from events where workspace_id = $1 and events.id = hits.event_id) event
                        order by hits.id) as "bodies!""#,
        who.workspace.0,
        &who.audiences(),
        number,
        lowest_at(now + AHEAD),
        depth,
        kinds,
        limit
    )
    .fetch_one(conn)
    .await?;
    let is_full = row.hits == limit;
    let next = if is_full { row.last_hit } else { row.newest };
    Ok(EventsPage { bodies: row.bodies, next: next.unwrap_or(number), cut: is_full || row.walked == depth })
}
