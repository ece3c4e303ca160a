//! Tags of a workspace with their counts (specification 2.6, 4.11).
//! One vocabulary serves live and sandbox; counts never include what the actor cannot see.

use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::TagId;
use crate::workspace::access::Actor;

#[derive(Debug)]
pub struct CountedTag {
    pub id: TagId,
    pub name: String,
    /// Conversations in every status that the actor can see.
    pub count: i64,
}

/// All tags by name. A test key sees those ever used in the sandbox, so the live words do not leak to it;
/// the names are shared.
pub async fn list(conn: &mut PgConnection, actor: &Actor) -> Result<Vec<CountedTag>> {
    Ok(sqlx::query_as!(
        CountedTag,
        r#"select id as "id: TagId", name, coalesce(counted.n, 0)::bigint as "count!"
           from tags
           left join (
               select subject_id, sum(n) as n from (
                   select subject_id, n from counts
                   where workspace_id = $1 and what = 'tag' and audience = any($2)
                   union all
                   select subject_id, change from count_changes
                   where workspace_id = $1 and what = 'tag' and audience = any($2)) parts
               group by subject_id) counted on counted.subject_id = tags.id
           where workspace_id = $1 and ($3 or in_sandbox)
           order by folded"#,
        actor.workspace.0,
        &actor.audiences(),
        actor.livemode
    )
    .fetch_all(conn)
    .await?)
}
