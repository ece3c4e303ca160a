//! A webhook's secret (specification 6.1): shown once, kept encrypted because it is needed to sign, bound to its
//! webhook. For a day after a rotation the old one signs too.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{WebhookId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{Stored, place};
use rookery_base::secrets::signed_requests::SharedSecret;
use rookery_base::store::db::Tx;

const PURPOSE: &str = "webhook";
/// How long the old secret signs too after a rotation.
const OVERLAP: TimeDelta = TimeDelta::hours(24);

pub fn encrypt(
    secret: &SharedSecret,
    keys: &KeyRing,
    random: &Random,
    workspace: WorkspaceId,
    webhook: WebhookId,
) -> Result<Vec<u8>> {
    secret.seal(keys, random, PURPOSE, &place(workspace, webhook))
}

pub fn decrypt(
    stored: &[u8],
    keys: &KeyRing,
    workspace: WorkspaceId,
    webhook: WebhookId,
) -> Result<SharedSecret> {
    SharedSecret::open(stored, keys, PURPOSE, &place(workspace, webhook))
}

/// The header's value: one signature for each secret that signs now, the newest first.
pub fn signatures(secrets: &[SharedSecret], id: &str, seconds: i64, body: &[u8]) -> String {
    let all: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect();
    all.join(" ")
}

/// Whether a secret that was replaced then still signs.
pub fn still_signs(rotated_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now < signs_until(rotated_at)
}

pub fn signs_until(rotated_at: DateTime<Utc>) -> DateTime<Utc> {
    rotated_at + OVERLAP
}

/// The secrets of these workspaces' webhooks as they are stored, those that were replaced too.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<WebhookId>>> {
    Ok(sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: WebhookId", sealed as "sealed!"
           from webhooks cross join lateral (values (secret), (old_secret)) each_one (sealed)
           where workspace_id = any($1) and sealed is not null and removed_at is null order by workspace_id, id"#,
        workspaces
    )
    .map(|row| Stored::new(row.workspace, row.id, PURPOSE, row.sealed))
    .fetch_all(conn)
    .await?)
}

/// The same secret, sealed otherwise; false when it is gone. It is found by its bytes, since a rotation may have moved it meanwhile.
pub async fn replace(tx: &mut Tx<'_>, id: WebhookId, old: &[u8], new: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update webhooks set secret = case when secret = $3 then $4 else secret end,
                old_secret = case when old_secret = $3 then $4 else old_secret end
         where workspace_id = $1 and id = $2 and (secret = $3 or old_secret = $3)",
        workspace,
        id.0,
        old,
        new
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_base::secrets::secret::SecretKey;

    #[test]
    fn a_stored_secret_opens_only_with_its_key_and_for_its_webhook() {
        let (key, random) = (KeyRing::from(SecretKey([1; 32])), Random::seeded(1));
        let (workspace, webhook) = (WorkspaceId(1), WebhookId(2));
        let secret = SharedSecret::new(&random);
        let stored = encrypt(&secret, &key, &random, workspace, webhook).unwrap();
        assert!(decrypt(&stored, &key, workspace, webhook).unwrap() == secret);
        for (key, workspace, webhook) in [
            (SecretKey([2; 32]).into(), workspace, webhook),
            (key.clone(), WorkspaceId(2), webhook),
            (key.clone(), workspace, WebhookId(1)),
        ] {
            assert!(decrypt(&stored, &key, workspace, webhook).is_err());
        }
        assert!(decrypt(b"short", &key, workspace, webhook).is_err());
    }
}
