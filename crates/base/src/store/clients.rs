//! What the directory knows of MCP clients: those that registered. Anybody may register, so they are few and short-lived:
//! what nobody let in ends after a day, and of those only the newest are kept.

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::Result;
use crate::store::directory::Directory;

const UNUSED_LASTS: TimeDelta = TimeDelta::days(1);
/// Since somebody last let it in. Longer than any token.
const USED_LASTS: TimeDelta = TimeDelta::days(365);
/// Of those that nobody let in.
pub const MOST_UNUSED: i64 = 10_000;

#[derive(Clone, Debug)]
pub struct Registered {
    pub name: String,
    pub redirects: Vec<String>,
}

impl Directory {
    /// Enters a client. The oldest that nobody let in make room for it.
    pub async fn register_client(&self, id: &str, client: &Registered, now: DateTime<Utc>) -> Result<()> {
        sqlx::query!(
            "with added as (
                 insert into directory.clients (id, name, redirects, registered_at) values ($1, $2, $3, $4))
             delete from directory.clients where id in (
                 select id from directory.clients where used_at is null order by registered_at desc offset $5)",
            id,
            client.name,
            &client.redirects,
            now,
            MOST_UNUSED - 1
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn client(&self, id: &str, now: DateTime<Utc>) -> Result<Option<Registered>> {
        Ok(sqlx::query_as!(
            Registered,
            "select name, redirects from directory.clients
             where id = $1 and (used_at > $2 or used_at is null and registered_at > $3)",
            id,
            now - USED_LASTS,
            now - UNUSED_LASTS
        )
        .fetch_optional(&self.pool)
        .await?)
    }

    /// Somebody let it in.
    pub async fn client_is_used(&self, id: &str, now: DateTime<Utc>) -> Result<()> {
        sqlx::query!("update directory.clients set used_at = $2 where id = $1", id, now)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    pub async fn forget_clients(&self, now: DateTime<Utc>) -> Result<()> {
        sqlx::query!(
            "delete from directory.clients
             where used_at is null and registered_at <= $1 or used_at <= $2",
            now - UNUSED_LASTS,
            now - USED_LASTS
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}
