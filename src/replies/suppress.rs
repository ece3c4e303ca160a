//! Addresses that must not be written to again: they complained, or do not exist. Live and sandbox are apart.
//! The address is taken whole, with its plus tag.

use crate::db::Tx;
use crate::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Bounce,
    Complaint,
}

pub async fn suppress(tx: &mut Tx<'_>, livemode: bool, address: &str, reason: Reason) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let reason = match reason {
        Reason::Bounce => "bounce",
        Reason::Complaint => "complaint",
    };
    sqlx::query!(
        "insert into suppressed_addresses (workspace_id, livemode, address, reason, at)
         values ($1, $2, lower($3), $4, $5) on conflict do nothing",
        workspace,
        livemode,
        address,
        reason,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub async fn is_suppressed(tx: &mut Tx<'_>, livemode: bool, address: &str) -> Result<bool> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select exists (select from suppressed_addresses
               where workspace_id = $1 and livemode = $2 and address = lower($3)) as "is_suppressed!""#,
        workspace,
        livemode,
        address
    )
    .fetch_one(&mut **tx)
    .await?)
}
