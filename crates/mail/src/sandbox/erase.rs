//! What the sandbox holds of somebody who is erased: mail that was recorded instead of sent. It would go after 30 days
//! anyway.

use rookery_base::error::Result;
use rookery_base::store::db::Tx;

pub async fn address(tx: &mut Tx<'_>, address: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from sandbox_mail where workspace_id = $1 and lower(recipient) = $2",
        workspace,
        address
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
