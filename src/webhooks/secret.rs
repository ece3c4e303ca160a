//! A webhook's secret (specification 6.1): shown once, kept encrypted because it is needed to sign, bound to its
//! webhook. For a day after a rotation the old one signs too.

use chrono::{DateTime, TimeDelta, Utc};

use crate::config::SecretKey;
use crate::error::Result;
use crate::ids::{WebhookId, WorkspaceId};
use crate::random::Random;
use crate::signed::Secret;

const PURPOSE: &str = "webhook";
/// How long the old secret signs too after a rotation.
const OVERLAP: TimeDelta = TimeDelta::hours(24);

pub fn encrypt(
    secret: &Secret,
    key: &SecretKey,
    random: &Random,
    workspace: WorkspaceId,
    webhook: WebhookId,
) -> Result<Vec<u8>> {
    secret.seal(key, random, PURPOSE, &place(workspace, webhook))
}

pub fn decrypt(stored: &[u8], key: &SecretKey, workspace: WorkspaceId, webhook: WebhookId) -> Result<Secret> {
    Secret::open(stored, key, PURPOSE, &place(workspace, webhook))
}

/// The header's value: one signature for each secret that signs now, the newest first.
pub fn signatures(secrets: &[Secret], id: &str, seconds: i64, body: &[u8]) -> String {
    let all: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect();
    all.join(" ")
}

/// Whether a secret that was replaced then still signs.
pub fn still_signs(rotated_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now < rotated_at + OVERLAP
}

fn place(workspace: WorkspaceId, webhook: WebhookId) -> String {
    format!("{workspace} {webhook}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_secret_opens_only_with_its_key_and_for_its_webhook() {
        let (key, random) = (SecretKey([1; 32]), Random::seeded(1));
        let (workspace, webhook) = (WorkspaceId(1), WebhookId(2));
        let secret = Secret::new(&random);
        let stored = encrypt(&secret, &key, &random, workspace, webhook).unwrap();
        assert!(decrypt(&stored, &key, workspace, webhook).unwrap() == secret);
        for (key, workspace, webhook) in [
            (SecretKey([2; 32]), workspace, webhook),
            (key.clone(), WorkspaceId(2), webhook),
            (key.clone(), workspace, WebhookId(1)),
        ] {
            assert!(decrypt(&stored, &key, workspace, webhook).is_err());
        }
        assert!(decrypt(b"short", &key, workspace, webhook).is_err());
    }
}
