//! Claiming what is due by turns: every workspace that has something due gets the same share of a batch, its oldest first. In the
//! order of time alone, a thousand rows of one workspace would stand before the one row of another.
//!
//! The table needs an index of `workspace_id` and its due time. The walk from one workspace to the next costs a look at that index
//! for each that has rows, due or not, and no more however many rows it has.

/// `claim_by_turns!(Row, conn, now, lease_ends, most "8", from "table", due "its due time", claim "its number of claims",
/// only "a condition", with "further tables, conditions", returning "columns")`: the row's table is `t`, in conditions about
/// further tables too.
#[macro_export]
macro_rules! claim_by_turns {
    ($row:ty, $conn:expr, $now:expr, $lease_ends:expr, most $most:literal, from $table:literal, due $due:literal,
     claim $claim:literal, only $only:literal, with $tables:literal, $and:literal, returning $returning:literal) => {
        sqlx::query_as!(
            $row,
            "with recursive step as (
                 (select workspace_id from "
                + $table
                + " where "
                + $due
                + " is not null and "
                + $only
                + " order by workspace_id limit 1)
                 union all
                 select (select workspace_id from "
                + $table
                + " where "
                + $due
                + " is not null and "
                + $only
                + " and workspace_id > step.workspace_id order by workspace_id limit 1)
                 from step where step.workspace_id is not null),
             ready as materialized (
                 select step.workspace_id from step cross join lateral (
                     select from "
                + $table
                + " own where own.workspace_id = step.workspace_id and "
                + $only
                + " and own."
                + $due
                + " <= $1 order by own."
                + $due
                + " limit 1) first
                 where step.workspace_id <> all (array(select id from workspaces where fenced_at is not null))),
             due as (
                 select own.place, ready.workspace_id from ready cross join lateral (
                     select ctid as place, "
                + $due
                + " as at from "
                + $table
                + " where workspace_id = ready.workspace_id and "
                + $only
                + " and "
                + $due
                + " <= $1 order by "
                + $due
                + " limit (select ceil("
                + $most
                + "::numeric / count(*)) from ready) for update skip locked) own
                 order by own.at limit "
                + $most
                + "),
             entered as materialized (
                 select workspace_id from (select distinct workspace_id from due) those
                 where try_enter_workspace(workspace_id))
             update "
                + $table
                + " t set "
                + $due
                + " = $2, "
                + $claim
                + " = t."
                + $claim
                + " + 1 from due, entered"
                + $tables
                + " where t.ctid = due.place and entered.workspace_id = due.workspace_id"
                + $and
                + " returning "
                + $returning,
            $now,
            $lease_ends
        )
        .fetch_all($conn)
        .await?
    };
}
pub use claim_by_turns;
