//! Which files the rows of a table name: what the sweep asks every owner of files before it takes one away. Only for tables
//! that name one file a row, in a column `blob`.

/// `held_blobs!(conn, "table", workspace, ids, blobs)`: those of the blobs that its rows with such ids name.
#[macro_export]
macro_rules! held_blobs {
    ($conn:expr, $table:literal, $workspace:expr, $ids:expr, $blobs:expr) => {
        Ok(sqlx::query_scalar!(
            "select blob from "
                + $table
                + " where workspace_id = $1 and id >= $2 and id < $3 and blob in (select unnest($4::text[]))",
            $workspace.0,
            $ids.start,
            $ids.end,
            $blobs
        )
        .fetch_all($conn)
        .await?)
    };
}
pub use held_blobs;
