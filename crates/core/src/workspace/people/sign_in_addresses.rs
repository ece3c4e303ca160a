//! Addresses that people of a workspace sign in with, or are invited by. Whoever reads mail to one gets the links in it, so it
//! becomes an inbox by its owner's own hand only, or by the operator's.

use crate::workspace::access::By;
use rookery_base::error::Result;
use rookery_base::ids::PersonId;
use rookery_base::store::addresses::key;
use rookery_base::store::db::Tx;

pub const OF_A_PERSON: &str = "is what someone else on your team signs in with or was invited by. Anyone who reads its email could \
                               sign in as them. Use another address, or withdraw the invitation first";

/// Whether somebody other than who asks signs in with an address, or waits to: by any spelling of its domain, with or without a
/// tag.
pub async fn is_of_another(tx: &mut Tx<'_>, by: &By, address: &str) -> Result<bool> {
    let own = match by {
        By::System => return Ok(false),
        By::Person { id, .. } => Some(*id),
        By::Agent { .. } | By::Rule { .. } => None,
    };
    let (workspace, now) = (tx.workspace().0, tx.now());
    let known = sqlx::query!(
        r#"select email as "email!", person as "person: PersonId" from (
               select email, id as person from people where workspace_id = $1 and removed_at is null
               union all select email, null from invitations where workspace_id = $1 and ends_at > $2) those"#,
        workspace,
        now
    )
    .fetch_all(&mut **tx)
    .await?;
    let wanted = key(address);
    Ok(known.iter().any(|row| key(&row.email) == wanted && (row.person.is_none() || row.person != own)))
}
