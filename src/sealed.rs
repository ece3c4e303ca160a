//! Secrets at rest: encrypted with a key derived from the server's, bound to what they are for, so that a
//! stored secret can be opened neither without ROOKERY_SECRET_KEY nor in another row's place.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::config::SecretKey;
use crate::error::{Error, Result};
use crate::random::Random;

/// `purpose` says what kind of secret it is, `context` whose.
pub fn seal(
    key: &SecretKey,
    random: &Random,
    purpose: &str,
    context: &str,
    secret: &[u8],
) -> Result<Vec<u8>> {
    let nonce = random.bytes::<NONCE_LEN>();
    let mut sealed = secret.to_vec();
    sealing_key(key, purpose)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(context.as_bytes()),
            &mut sealed,
        )
        .map_err(|_| Error::internal("a secret cannot be encrypted"))?;
    Ok([nonce.as_slice(), &sealed].concat())
}

/// Opens what was sealed for this purpose and context.
pub fn open(key: &SecretKey, purpose: &str, context: &str, sealed: &[u8]) -> Result<Vec<u8>> {
    let unreadable = || Error::internal("A stored secret cannot be read: is ROOKERY_SECRET_KEY another?");
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(unreadable)?;
    let mut sealed = sealed.to_vec();
    let opened = sealing_key(key, purpose)?
        .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(context.as_bytes()), &mut sealed)
        .map_err(|_| unreadable())?;
    Ok(opened.to_vec())
}

/// A key for each purpose, so that nothing else the server key is used for can meet this.
fn sealing_key(key: &SecretKey, purpose: &str) -> Result<LessSafeKey> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.0).expect("HMAC takes a key of any length");
    mac.update(b"sealed\0");
    mac.update(purpose.as_bytes());
    let bytes = mac.finalize().into_bytes();
    let unbound =
        UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| Error::internal("no key to encrypt with"))?;
    Ok(LessSafeKey::new(unbound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_opens_only_with_its_key_for_its_purpose_and_in_its_place() {
        let (key, random) = (SecretKey([1; 32]), Random::seeded(1));
        let secret = b"a private key of some length";
        let sealed = seal(&key, &random, "dkim", "acme.example", secret).unwrap();
        assert!(!sealed.windows(8).any(|bytes| secret.windows(8).any(|plain| plain == bytes)));
        assert_eq!(open(&key, "dkim", "acme.example", &sealed).unwrap(), secret);
        assert!(open(&SecretKey([2; 32]), "dkim", "acme.example", &sealed).is_err());
        assert!(open(&key, "webhook", "acme.example", &sealed).is_err());
        assert!(open(&key, "dkim", "other.example", &sealed).is_err());
        assert!(open(&key, "dkim", "acme.example", b"short").is_err());
        let mut changed = sealed.clone();
        changed[20] ^= 1;
        assert!(open(&key, "dkim", "acme.example", &changed).is_err());
        let again = seal(&key, &random, "dkim", "acme.example", secret).unwrap();
        assert_ne!(sealed, again, "every sealing has a nonce of its own");
    }
}
