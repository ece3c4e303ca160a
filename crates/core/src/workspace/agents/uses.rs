//! When keys were last used, from which network and by what. Requests note it in memory (`limits/key_uses.rs`); this is how
//! it is written down, in a transaction of its own that no request waits for.

use chrono::{DateTime, Utc};

use rookery_base::error::Result;
use rookery_base::limits::key_uses::{KeyUse, WRITTEN_EVERY};
use rookery_base::store::db::Tx;

/// Another node may have written a key within the minute: then it stays.
pub async fn write(tx: &mut Tx<'_>, uses: &[KeyUse]) -> Result<()> {
    let workspace = tx.workspace().0;
    let agents: Vec<i64> = uses.iter().map(|one| one.agent.0).collect();
    let times: Vec<DateTime<Utc>> = uses.iter().map(|one| one.at).collect();
    let networks: Vec<String> = uses.iter().map(|one| one.network.clone()).collect();
    let clients: Vec<String> = uses.iter().map(|one| one.client.clone()).collect();
    sqlx::query!(
        "insert into key_uses (workspace_id, agent_id, used_at, network, client)
         select $1, agents.id, used.at, used.network, used.client
         from unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::text[]) used(agent, at, network, client)
         join agents on agents.workspace_id = $1 and agents.id = used.agent
         order by agents.id
         on conflict (workspace_id, agent_id) do update
             set used_at = excluded.used_at, network = excluded.network, client = excluded.client
             where key_uses.used_at <= excluded.used_at - $6::bigint * interval '1 second'",
        workspace,
        &agents,
        &times,
        &networks,
        &clients,
        WRITTEN_EVERY.num_seconds()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
