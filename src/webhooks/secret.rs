//! A webhook's secret (specification 6.1): shown once, kept encrypted because it is needed to sign, bound to its
//! webhook. The signature follows Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::config::SecretKey;
use crate::error::{Error, Result};
use crate::ids::{WebhookId, WorkspaceId};
use crate::random::Random;
use crate::sealed;

const PREFIX: &str = "whsec_";
const PURPOSE: &str = "webhook";
/// How long the old secret signs too after a rotation.
const OVERLAP: TimeDelta = TimeDelta::hours(24);

/// 32 bytes that sign what a webhook is sent.
#[derive(Clone, PartialEq)]
pub struct Secret([u8; 32]);

impl Secret {
    pub fn new(random: &Random) -> Self {
        Self(random.bytes())
    }

    /// As it is shown, once.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    pub fn encrypt(
        &self,
        key: &SecretKey,
        random: &Random,
        workspace: WorkspaceId,
        webhook: WebhookId,
    ) -> Result<Vec<u8>> {
        sealed::seal(key, random, PURPOSE, &place(workspace, webhook), &self.0)
    }

    pub fn decrypt(
        stored: &[u8],
        key: &SecretKey,
        workspace: WorkspaceId,
        webhook: WebhookId,
    ) -> Result<Self> {
        let opened = sealed::open(key, PURPOSE, &place(workspace, webhook), stored)?;
        let bytes =
            opened.try_into().map_err(|_| Error::internal("a webhook's secret has another length"))?;
        Ok(Self(bytes))
    }

    /// `v1,` and the signature of id, time and body.
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(id.as_bytes());
        mac.update(format!(".{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl std::str::FromStr for Secret {
    type Err = &'static str;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| STANDARD.decode(text).ok());
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or("not a webhook secret")
    }
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
        let stored = secret.encrypt(&key, &random, workspace, webhook).unwrap();
        assert!(stored.windows(8).all(|bytes| !secret.0.windows(8).any(|plain| plain == bytes)));
        assert!(Secret::decrypt(&stored, &key, workspace, webhook).unwrap() == secret);
        for (key, workspace, webhook) in [
            (SecretKey([2; 32]), workspace, webhook),
            (key.clone(), WorkspaceId(2), webhook),
            (key.clone(), workspace, WebhookId(1)),
        ] {
            assert!(Secret::decrypt(&stored, &key, workspace, webhook).is_err());
        }
        let mut changed = stored.clone();
        changed[20] ^= 1;
        assert!(Secret::decrypt(&changed, &key, workspace, webhook).is_err());
        assert!(Secret::decrypt(b"short", &key, workspace, webhook).is_err());
        let again = secret.encrypt(&key, &random, workspace, webhook).unwrap();
        assert_ne!(stored, again, "every encryption has a nonce of its own");
    }

    /// The example of the Standard Webhooks specification.
    ///
    /// proves: WH-11
    #[test]
    fn a_signature_is_the_one_of_standard_webhooks() {
        let key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(key).unwrap()).unwrap();
        mac.update(br#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#);
        let wanted = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        assert_eq!(wanted, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let secret = Secret([3; 32]);
        let mut mac = Hmac::<Sha256>::new_from_slice(&[3; 32]).unwrap();
        mac.update(b"evt_1.1614265330.{}");
        let wanted = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        assert_eq!(secret.sign("evt_1", 1_614_265_330, b"{}"), wanted);
    }

    /// proves: WH-13
    #[test]
    fn a_secret_is_shown_as_32_bytes_behind_its_prefix() {
        let text = Secret::new(&Random::seeded(1)).text();
        assert_eq!(STANDARD.decode(text.strip_prefix("whsec_").unwrap()).unwrap().len(), 32);
        assert_eq!(text.parse::<Secret>().unwrap().text(), text);
        assert!("whsec_AAAA".parse::<Secret>().is_err());
    }
}
