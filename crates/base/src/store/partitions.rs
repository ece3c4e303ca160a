//! Tables that are kept by day (specification 8: 30 days; answers to keyed requests one). An id is the time in its upper bits, so a day is a
//! range of ids, and forgetting a day is dropping a table. Days are made ahead; what no day takes stands in
//! the default partition until its day is made.
//!
//! The database does it (`keep_day` in migrations/), because the service's role need not own its tables.

use sqlx::PgConnection;

use crate::error::Result;

const KEPT_BY_DAY: [&str; 6] =
    ["events", "sandbox_mail", "delivery_log", "answered_requests", "event_feed", "agent_calls"];

/// Makes the days that are missing and drops those that are over, by the database's clock.
pub async fn maintain(conn: &mut PgConnection) -> Result<()> {
    let mut kept = Ok(());
    for table in KEPT_BY_DAY {
        // One that fails does not keep the others from their days.
        kept = kept.and(keep_days_of(conn, table).await);
    }
    kept
}

async fn keep_days_of(conn: &mut PgConnection, table: &str) -> Result<()> {
    while sqlx::query_scalar!(r#"select keep_day($1) as "more!""#, table).fetch_one(&mut *conn).await? {}
    Ok(())
}
