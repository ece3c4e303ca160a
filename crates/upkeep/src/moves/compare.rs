//! Whether both cells have the same rows: a count and a sum of hashes of every table, over the rows as text. Columns of a kind
//! that is written otherwise by each server would differ; there are none.

use std::collections::BTreeMap;

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row};

use super::side::{Side, Table, tables};
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;

/// Tables with more rows are compared by what is new in them once the fence is closed: they were compared whole before.
const MANY: i64 = 10_000;

/// How much was compared, and which tables differ.
pub struct Compared {
    pub tables: usize,
    pub rows: i64,
    pub different: Vec<String>,
}

impl Compared {
    pub fn is_equal(&self) -> Result<()> {
        match self.different.as_slice() {
            [] => Ok(()),
            different => Err(Error::internal(format!(
                "The cells do not have the same rows in {}. Nothing was switched: give up with --abort and move again.",
                different.join(", ")
            ))),
        }
    }
}

/// The newest row of each table with many, from which on it is compared again.
pub type Newest = BTreeMap<String, i64>;

type Sums = BTreeMap<String, (i64, String)>;

/// Everything, on two snapshots of one instant.
pub async fn whole(
    theirs: &mut PoolConnection<Postgres>,
    ours: &mut PoolConnection<Postgres>,
    workspace: WorkspaceId,
) -> Result<Compared> {
    let tables = tables(theirs).await?;
    let all = Newest::new();
    let both =
        futures::try_join!(sums(theirs, &tables, workspace, &all), sums(ours, &tables, workspace, &all));
    for conn in [theirs, ours] {
        sqlx::raw_sql("rollback").execute(&mut **conn).await?;
    }
    let (theirs, ours) = both?;
    Ok(compared(&theirs, &ours))
}

/// Where tables with many rows end now.
pub async fn newest(from: &mut Side, workspace: WorkspaceId) -> Result<Newest> {
    let id = workspace.0;
    let mut newest = Newest::new();
    for table in from.tables().await?.into_iter().filter(|table| table.has_id && !table.unlogged) {
        let name = &table.name;
        let found = from
            .number(format!(
                "select coalesce((select max(id) from {name} where workspace_id = {id}
                     and (select count(*) from (select from {name} where workspace_id = {id} limit {MANY}) many) = {MANY}), -1)"
            ))
            .await?;
        if found >= 0 {
            newest.insert(table.name, found);
        }
    }
    Ok(newest)
}

/// Small tables whole, of the others what came since.
pub async fn since(
    from: &mut Side,
    to: &mut Side,
    workspace: WorkspaceId,
    newest: &Newest,
) -> Result<Compared> {
    let tables = from.tables().await?;
    let (theirs, ours) = futures::try_join!(
        sums(from.conn(), &tables, workspace, newest),
        sums(to.conn(), &tables, workspace, newest)
    )?;
    Ok(compared(&theirs, &ours))
}

async fn sums(
    conn: &mut PgConnection,
    tables: &[Table],
    workspace: WorkspaceId,
    newest: &Newest,
) -> Result<Sums> {
    let parts = tables.iter().filter(|table| !table.unlogged).map(|table| {
        let (name, id) = (&table.name, workspace.0);
        let since = newest.get(name).map(|newest| format!(" and id > {newest}")).unwrap_or_default();
        format!(
            "select '{name}', count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text
             from {name} t where workspace_id = {id}{since}"
        )
    });
    let parts: Vec<String> = parts.collect();
    let rows = sqlx::raw_sql(AssertSqlSafe(parts.join(" union all "))).fetch_all(conn).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?)))).collect()
}

fn compared(theirs: &Sums, ours: &Sums) -> Compared {
    let different = theirs.iter().filter(|(table, sum)| ours.get(*table) != Some(sum));
    Compared {
        tables: theirs.len(),
        rows: theirs.values().map(|(rows, _)| rows).sum(),
        different: different.map(|(table, _)| table.clone()).collect(),
    }
}
