//! Which files of the blob store the rows of a database name, whatever version it is of: columns that name files are known
//! by how they are called, and a test of the sweep holds the schema to that. Files that are only waiting to be removed
//! (`doomed_files`) are not missed.

use std::collections::HashSet;

use futures::TryStreamExt;
use sqlx::{AssertSqlSafe, PgConnection};

use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::sha256;

/// A name in short, for sets of millions: 128 bits, so no two are the same.
pub type Short = [u8; 16];

pub fn short(blob: &str) -> Short {
    let hash = sha256(blob);
    std::array::from_fn(|n| hash[n])
}

/// Hands over every name, some of them several times.
pub async fn each(conn: &mut PgConnection, mut take: impl AsyncFnMut(String) -> Result<()>) -> Result<()> {
    for select in selects(conn).await? {
        let mut names = sqlx::query_scalar::<_, String>(AssertSqlSafe(select)).fetch(&mut *conn);
        while let Some(blob) = names.try_next().await? {
            take(blob).await?;
        }
    }
    Ok(())
}

/// Those that a row names at this moment.
pub async fn still_named(conn: &mut PgConnection, blobs: &[String]) -> Result<HashSet<String>> {
    let mut named = HashSet::new();
    for select in selects(conn).await? {
        let asking = format!("select distinct blob from ({select}) named (blob) where blob = any($1)");
        let found: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(asking)).bind(blobs).fetch_all(&mut *conn).await?;
        named.extend(found);
    }
    Ok(named)
}

/// A query for each column that names files.
async fn selects(conn: &mut PgConnection) -> Result<Vec<String>> {
    let columns: Vec<(String, String, String)> = sqlx::query_as(
        "select format('%I.%I', n.nspname, c.relname), quote_ident(a.attname), t.typname::text
         from pg_attribute a join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
         join pg_type t on t.oid = atttypid
         where n.nspname in (current_schema(), 'directory') and relkind in ('r', 'p') and not relispartition
           and attnum > 0 and not attisdropped and attname ~ '(^|_)(blobs?|attachments?)$' and relname <> 'doomed_files'
         order by 1, 2",
    )
    .fetch_all(conn)
    .await?;
    let select = |(table, column, kind): (String, String, String)| match kind.as_str() {
        "text" => Ok(format!("select {column} from {table} where {column} is not null")),
        "_text" => Ok(format!("select unnest({column}) from {table} where {column} is not null")),
        "jsonb" => Ok(format!(
            "select file #>> '{{}}' from {table}, jsonb_path_query({column}, 'lax $[*].blob') file
             where jsonb_typeof(file) = 'string'"
        )),
        _ => Err(Error::internal(format!("nobody knows how {table}.{column} names files"))),
    };
    columns.into_iter().map(select).collect()
}
