//! Learning from corrections, and how good the assistants are. Whenever people corrected topics, or mail that taught
//! something was erased, everything is learned anew, off the runtime's threads; versions count up and the newest is used.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::runs;
use crate::sort::learn::{Example, FEWEST, Learned, Score};
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;

/// The worker's loop.
pub const LOOP: &str = "learn from corrections";

/// The newest corrections that are learned from.
const MOST: i64 = 3_000;
const LOOKED_AT: i32 = 6_000;
/// Workspaces that one statement looks at.
const AT_ONCE: i64 = 20;
/// How long a few new corrections wait until everything is learned anew for them.
const AT_LEAST_EVERY: TimeDelta = TimeDelta::days(1);
/// How far back scores look.
const LATELY: TimeDelta = TimeDelta::days(90);

pub async fn learn_due(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    let mut after = WorkspaceId(i64::MIN);
    loop {
        let few = due(&mut *app.connection().await?, app.clock.now(), after, &pass.aside()).await?;
        let Some(last) = few.last else { return Ok(()) };
        after = last;
        if app.stop.is_told() {
            return Ok(());
        }
        for workspace in few.due {
            let learning = async {
                learn(app, workspace).await?;
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Workspace(workspace), learning).await?;
        }
    }
}

/// A few workspaces that were looked at.
struct LookedAt {
    due: Vec<WorkspaceId>,
    /// Nothing when there was none.
    last: Option<WorkspaceId>,
}

/// Workspaces whose newest version knows mail that is gone, lacks one correction in twenty, or lacked one a day ago: of the next
/// few that have corrections or a version, found one after the other by the ends of two indexes.
async fn due(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    after: WorkspaceId,
    aside: &Aside,
) -> Result<LookedAt> {
    let rows = sqlx::query!(
        r#"with recursive step (id) as (
               values ($4::bigint)
               union all
               select least(
                   (select workspace_id from corrections where workspace_id > step.id order by workspace_id limit 1),
                   (select workspace_id from learned_topics where workspace_id > step.id order by workspace_id limit 1))
               from step where step.id is not null),
           few as materialized (select id from step where id > $4 limit $5)
           select few.id as "id!: WorkspaceId",
                  few.id not in (select unnest($1::bigint[]))
                      and few.id not in (select id from workspaces where fenced_at is not null)
                      and (case when known.learned_to is null then corrected.teaching >= $2
                                else corrected.teaching < known.examples
                                     or corrected.teaching >= 1.05 * known.examples + 1
                                     or (corrected.newest <> known.learned_to and known.trained_at < $3) end)
                      as "is_due!"
           from few
           cross join lateral (
               select coalesce(max(at), 'epoch') as newest, count(*) as teaching from corrections
               where workspace_id = few.id and field = 'topic' and after is not null) corrected
           left join lateral (
               select learned_to, examples, trained_at from learned_topics l
               where l.workspace_id = few.id order by version desc limit 1) known on true
           order by few.id"#,
        &aside.workspaces,
        FEWEST as i64,
        now - AT_LEAST_EVERY,
        after.0,
        AT_ONCE
    )
    .fetch_all(conn)
    .await?;
    let last = rows.last().map(|row| row.id);
    Ok(LookedAt { due: rows.into_iter().filter(|row| row.is_due).map(|row| row.id).collect(), last })
}

/// Learns anew.
pub async fn learn(app: &App, workspace: WorkspaceId) -> Result<()> {
    let mut conn = app.connection().await?;
    let rows = sqlx::query!(
        r#"select v.subject, left(m.text, $3) as "text!", c.after as "topic!", c.at, count(*) over () as "all!"
           from corrections c
           join messages m on m.workspace_id = $1 and m.id = c.message_id
           join conversations v on v.workspace_id = $1 and v.id = m.conversation_id
           where c.workspace_id = $1 and c.field = 'topic' and c.after is not null
           order by c.at desc limit $2"#,
        workspace.0,
        MOST,
        LOOKED_AT
    )
    .fetch_all(&mut *conn)
    .await?;
    drop(conn);
    let newest = rows.iter().map(|row| row.at).max().unwrap_or_default();
    // All there are, also those that are too old to be learned from: when one of them goes, that is noticed.
    let count = rows.first().map_or(0, |row| row.all);
    let learning = tokio::task::spawn_blocking(move || {
        let examples: Vec<Example> =
            rows.iter().map(|row| Example::new(&row.subject, &row.text, &row.topic)).collect();
        let learned = Learned::from(&examples);
        (learned.scores.clone(), learned.stored())
    });
    let (scores, weights) = learning.await.map_err(Error::internal)?;
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    let version = sqlx::query_scalar!(
        r#"insert into learned_topics (workspace_id, version, trained_at, learned_to, examples, scores, weights)
           select $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5, $6 from learned_topics where workspace_id = $1
           on conflict do nothing returning version"#,
        workspace.0,
        now,
        newest,
        i32::try_from(count).unwrap_or(i32::MAX),
        Json(&scores) as _,
        &weights[..]
    )
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(version) = version {
        // What the older ones were taught may have been erased since.
        sqlx::query!(
            "delete from learned_topics where workspace_id = $1 and version < $2",
            workspace.0,
            version
        )
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await
}

/// What was learned at one time. Versions count up.
pub struct Version {
    pub number: i32,
    pub learned: Learned,
}

/// The newest version, if any of its topics is good enough to be used.
pub async fn newest(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Option<Version>> {
    let Some((version, scores)) = known(conn, workspace).await? else { return Ok(None) };
    if scores.iter().all(|score| score.sure_from.is_none()) {
        return Ok(None);
    }
    let weights = sqlx::query_scalar!(
        "select weights from learned_topics where workspace_id = $1 and version = $2",
        workspace.0,
        version
    )
    .fetch_optional(conn)
    .await?;
    weights
        .map(|weights| Ok(Version { number: version, learned: Learned::read(scores, &weights)? }))
        .transpose()
}

/// How well each topic is known.
pub async fn known(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Option<(i32, Vec<Score>)>> {
    let row = sqlx::query!(
        r#"select version, scores as "scores: Json<Vec<Score>>" from learned_topics
           where workspace_id = $1 order by version desc limit 1"#,
        workspace.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.version, row.scores.0)))
}

/// What became of what assistants said and drafted in the last 90 days.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lately {
    /// Topics that an engine had said and a person changed, in as many days as claims are counted.
    pub corrected: i64,
    /// All that people said of topics.
    pub corrections: i64,
    pub drafted: i64,
    pub unedited: i64,
    pub edited: i64,
    pub waiting: i64,
}

impl Lately {
    /// Thrown away, or taken over.
    pub fn discarded(&self) -> i64 {
        (self.drafted - self.unedited - self.edited - self.waiting).max(0)
    }
}

pub async fn lately(conn: &mut PgConnection, workspace: WorkspaceId, now: DateTime<Utc>) -> Result<Lately> {
    Ok(sqlx::query_as!(
        Lately,
        r#"select
               (select count(*) from corrections where workspace_id = $1 and field = 'topic' and at > $3
                  and engine is not null and before is not null and after is distinct from before) as "corrected!",
               (select count(*) from corrections where workspace_id = $1 and field = 'topic' and after is not null)
                   as "corrections!",
               count(*) as "drafted!",
               count(*) filter (where m.status <> 'draft' and m.drafted_body is null) as "unedited!",
               count(*) filter (where m.status <> 'draft' and m.drafted_body is not null) as "edited!",
               count(*) filter (where m.status = 'draft') as "waiting!"
           from assistant_drafts d left join messages m on m.workspace_id = $1 and m.id = d.message_id
           where d.workspace_id = $1 and d.at > $2"#,
        workspace.0,
        now - LATELY,
        now - runs::KEPT
    )
    .fetch_one(conn)
    .await?)
}
