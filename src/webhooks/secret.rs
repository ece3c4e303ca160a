//! A webhook's secret (specification 6.1): shown once, kept encrypted because it is needed to sign, bound to its
//! webhook. The signature follows Standard Webhooks.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::config::SecretKey;
use crate::error::{Error, Result};
use crate::ids::{WebhookId, WorkspaceId};
use crate::random::Random;

const PREFIX: &str = "whsec_";
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
        let nonce = random.bytes::<NONCE_LEN>();
        let mut sealed = self.0.to_vec();
        sealing_key(key)?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(place(workspace, webhook)),
                &mut sealed,
            )
            .map_err(|_| Error::internal("a secret cannot be encrypted"))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    pub fn decrypt(
        stored: &[u8],
        key: &SecretKey,
        workspace: WorkspaceId,
        webhook: WebhookId,
    ) -> Result<Self> {
        let unreadable =
            || Error::internal("a webhook's secret cannot be read: is ROOKERY_SECRET_KEY another?");
        let (nonce, sealed) = stored.split_first_chunk::<NONCE_LEN>().ok_or_else(unreadable)?;
        let mut sealed = sealed.to_vec();
        let opened = sealing_key(key)?
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(place(workspace, webhook)),
                &mut sealed,
            )
            .map_err(|_| unreadable())?;
        Ok(Self((&*opened).try_into().map_err(|_| unreadable())?))
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

/// A key of its own, so that nothing else the server key is used for can meet this.
fn sealing_key(key: &SecretKey) -> Result<LessSafeKey> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.0).expect("HMAC takes a key of any length");
    mac.update(b"webhook secrets");
    let bytes = mac.finalize().into_bytes();
    let unbound =
        UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| Error::internal("no key to encrypt with"))?;
    Ok(LessSafeKey::new(unbound))
}

fn place(workspace: WorkspaceId, webhook: WebhookId) -> [u8; 16] {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&workspace.0.to_be_bytes());
    place[8..].copy_from_slice(&webhook.0.to_be_bytes());
    place
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
