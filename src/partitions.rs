//! Tables that are kept by day (specification 8: 30 days). An id is the time in its upper bits, so a day is a
//! range of ids, and forgetting a day is dropping a table. Days are made ahead; what no day takes stands in
//! the default partition until its day is made.

use chrono::{DateTime, Days, NaiveDate, Utc};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::error::Result;
use crate::ids;

/// Tables and how many days they go back.
const KEPT_BY_DAY: &[(&str, u64)] = &[("events", 30), ("sandbox_mail", 30), ("delivery_log", 30)];
const DAYS_AHEAD: u64 = 7;
/// Anything: nodes that keep the days at the same time take turns.
const TURN: i64 = 0x726f_6f6b_6461_7973;

/// Makes the days that are missing and drops those that are over.
pub async fn keep(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    for (table, days) in KEPT_BY_DAY {
        let today = now.date_naive();
        let there = days_of(conn, table).await?;
        let wanted = (0..=DAYS_AHEAD + 1)
            .filter_map(|ahead| (today - Days::new(1)).checked_add_days(Days::new(ahead)));
        for day in wanted.filter(|day| !there.contains(day)) {
            make(conn, table, day).await?;
        }
        let oldest = today - Days::new(*days);
        for day in there.iter().filter(|day| **day < oldest) {
            run(conn, format!("drop table if exists {}", name(table, *day))).await?;
        }
        // Strays of days that are over.
        run(conn, format!("delete from {table}_default where id < {}", ids::lowest_on(oldest))).await?;
    }
    Ok(())
}

/// The days a table has a partition for.
async fn days_of(conn: &mut PgConnection, table: &str) -> Result<Vec<NaiveDate>> {
    let names: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_inherits join pg_class on oid = inhrelid where inhparent = $1::regclass",
    )
    .bind(table)
    .fetch_all(conn)
    .await?;
    let day = |name: &String| NaiveDate::parse_from_str(name.rsplit('_').next()?, "%Y%m%d").ok();
    Ok(names.iter().filter_map(day).collect())
}

/// Rows of the day that came before its partition are taken along.
async fn make(conn: &mut PgConnection, table: &str, day: NaiveDate) -> Result<()> {
    let (part, from, to) = (name(table, day), ids::lowest_on(day), ids::lowest_on(day + Days::new(1)));
    let mut tx = conn.begin().await?;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(TURN).execute(&mut *tx).await?;
    if days_of(&mut tx, table).await?.contains(&day) {
        return Ok(());
    }
    run(&mut tx, format!("create table {part} (like {table} including all)")).await?;
    run(
        &mut tx,
        format!(
            "with strays as (delete from {table}_default where id >= {from} and id < {to} returning *)
             insert into {part} select * from strays"
        ),
    )
    .await?;
    run(&mut tx, format!("alter table {table} attach partition {part} for values from ({from}) to ({to})"))
        .await?;
    Ok(tx.commit().await?)
}

/// Names and numbers above are our own.
async fn run(conn: &mut PgConnection, statement: String) -> Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(conn).await?;
    Ok(())
}

fn name(table: &str, day: NaiveDate) -> String {
    format!("{table}_{}", day.format("%Y%m%d"))
}
