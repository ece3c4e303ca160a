//! Secrets at rest: encrypted with a key derived from one of the server's, bound to what they are for, so that a
//! stored secret can be opened neither without ROOKERY_SECRET_KEY nor in another row's place.
//!
//! A sealed secret names the key that sealed it. The name is a hint and for people; whether a key opens it, the
//! encryption decides. Those of older versions name none and are tried with every key.

use std::fmt::Display;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::random::Random;
use crate::secrets::hashes::hmac;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::secret::SecretKey;

/// In front of the key's id: what is sealed begins with it, the length of the id and the id.
const MARK: &[u8; 3] = b"rk1";

/// `purpose` says what kind of secret it is, `context` whose. The newest key seals.
pub fn seal(keys: &KeyRing, random: &Random, purpose: &str, context: &str, secret: &[u8]) -> Result<Vec<u8>> {
    let nonce = random.bytes::<NONCE_LEN>();
    let mut sealed = secret.to_vec();
    sealing_key(keys.newest(), purpose)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(context.as_bytes()),
            &mut sealed,
        )
        .map_err(|_| Error::internal("a secret cannot be encrypted"))?;
    let id = keys.newest_id().as_bytes();
    let length = u8::try_from(id.len()).map_err(Error::internal)?;
    Ok([MARK.as_slice(), &[length], id, &nonce, &sealed].concat())
}

/// Opens what was sealed for this purpose and context, with whichever key.
pub fn open(keys: &KeyRing, purpose: &str, context: &str, sealed: &[u8]) -> Result<Vec<u8>> {
    let opened = opened_by(keys, purpose, context, sealed)?;
    opened.map(|(_, secret)| secret).ok_or_else(|| {
        let which =
            key_named(sealed).map(|id| format!(" It was sealed with the key {id}.")).unwrap_or_default();
        Error::internal(format!(
            "A stored secret cannot be read: no key in ROOKERY_SECRET_KEY opens it.{which} Put that key back."
        ))
    })
}

/// The key that opens it, and what is in it.
pub fn opened_by<'k>(
    keys: &'k KeyRing,
    purpose: &str,
    context: &str,
    sealed: &[u8],
) -> Result<Option<(&'k str, Vec<u8>)>> {
    let named = apart(sealed);
    // The key it names first. The bytes of an older version may look as if they named one.
    let by_name = named.into_iter().flat_map(|(name, rest)| {
        let (its, others): (Vec<_>, Vec<_>) = keys.all().partition(|(id, _)| *id == name);
        its.into_iter().chain(others).map(move |key| (key, rest))
    });
    for ((id, key), sealed) in by_name.chain(keys.all().map(|key| (key, sealed))) {
        let Some((nonce, sealed)) = sealed.split_first_chunk::<NONCE_LEN>() else { continue };
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let key = sealing_key(key, purpose)?;
        if let Ok(opened) = key.open_in_place(nonce, Aad::from(context.as_bytes()), &mut sealed) {
            return Ok(Some((id, opened.to_vec())));
        }
    }
    Ok(None)
}

/// The id of the key it says it was sealed with.
pub fn key_named(sealed: &[u8]) -> Option<&str> {
    apart(sealed).map(|(id, _)| id)
}

fn apart(sealed: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = sealed.strip_prefix(MARK)?.split_first()?;
    let (id, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((std::str::from_utf8(id).ok()?, rest))
}

/// A sealed secret as a row of a workspace has it.
pub struct Stored<I> {
    pub workspace: WorkspaceId,
    pub id: I,
    pub purpose: &'static str,
    pub context: String,
    pub sealed: Vec<u8>,
}

impl<I: Display> Stored<I> {
    pub fn new(workspace: WorkspaceId, id: I, purpose: &'static str, sealed: Vec<u8>) -> Self {
        Self { workspace, context: place(workspace, &id), id, purpose, sealed }
    }
}

/// The context of what belongs to a row of a workspace.
pub fn place(workspace: WorkspaceId, id: impl Display) -> String {
    format!("{workspace} {id}")
}

/// A key for each purpose, so that nothing else the server key is used for can meet this.
fn sealing_key(key: &SecretKey, purpose: &str) -> Result<LessSafeKey> {
    let derived = hmac(&key.0, &[b"sealed\0", purpose.as_bytes()]);
    let unbound = UnboundKey::new(&AES_256_GCM, derived.as_ref())
        .map_err(|_| Error::internal("no key to encrypt with"))?;
    Ok(LessSafeKey::new(unbound))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn ring(keys: &[(&str, u8)]) -> KeyRing {
        let one = |(id, byte): &(&str, u8)| format!("{id}:{}", STANDARD.encode([*byte; 32]));
        keys.iter().map(one).collect::<Vec<_>>().join(",").parse().unwrap()
    }

    #[test]
    fn a_sealed_secret_opens_only_with_its_key_for_its_purpose_and_in_its_place() {
        let (key, random) = (KeyRing::from(SecretKey([1; 32])), Random::seeded(1));
        let secret = b"a private key of some length";
        let sealed = seal(&key, &random, "dkim", "acme.example", secret).unwrap();
        assert!(!sealed.windows(8).any(|bytes| secret.windows(8).any(|plain| plain == bytes)));
        assert_eq!(open(&key, "dkim", "acme.example", &sealed).unwrap(), secret);
        assert!(open(&SecretKey([2; 32]).into(), "dkim", "acme.example", &sealed).is_err());
        assert!(open(&key, "webhook", "acme.example", &sealed).is_err());
        assert!(open(&key, "dkim", "other.example", &sealed).is_err());
        for wrong in [&b""[..], b"short", b"rk1", b"rk1\xff", b"rk1\x01\xff", &sealed[..20]] {
            assert!(open(&key, "dkim", "acme.example", wrong).is_err());
        }
        let mut changed = sealed.clone();
        changed[20] ^= 1;
        assert!(open(&key, "dkim", "acme.example", &changed).is_err());
        let again = seal(&key, &random, "dkim", "acme.example", secret).unwrap();
        assert_ne!(sealed, again, "every sealing has a nonce of its own");
    }

    #[test]
    fn the_newest_key_seals_and_every_key_opens_whatever_it_is_called() {
        let random = Random::seeded(1);
        let (old, both) = (ring(&[("a", 1)]), ring(&[("b", 2), ("a", 1)]));
        let sealed = seal(&old, &random, "dkim", "acme.example", b"secret").unwrap();
        assert_eq!(key_named(&sealed), Some("a"));
        assert_eq!(open(&both, "dkim", "acme.example", &sealed).unwrap(), b"secret");
        assert_eq!(open(&ring(&[("other", 1)]), "dkim", "acme.example", &sealed).unwrap(), b"secret");
        assert_eq!(open(&ring(&[("a", 2), ("b", 1)]), "dkim", "acme.example", &sealed).unwrap(), b"secret");
        let error = open(&ring(&[("b", 2)]), "dkim", "acme.example", &sealed).unwrap_err().to_string();
        assert!(error.contains("the key a."), "{error}");
        let newer = seal(&both, &random, "dkim", "acme.example", b"secret").unwrap();
        let (id, secret) = opened_by(&both, "dkim", "acme.example", &newer).unwrap().unwrap();
        assert_eq!((id, secret.as_slice(), key_named(&newer)), ("b", b"secret".as_slice(), Some("b")));
        assert!(open(&old, "dkim", "acme.example", &newer).is_err());
    }

    /// Nonce, ciphertext and tag, with the key 01…01.
    #[test]
    fn what_was_sealed_before_keys_had_ids_opens() {
        let keys = ring(&[("b", 2), ("a", 1)]);
        let sealed = STANDARD.decode("AAECAwQFBgcICQoL2mI278B1RZlxNdqXImUy4LhDjf53kg==").unwrap();
        assert_eq!(key_named(&sealed), None);
        assert_eq!(open(&keys, "dkim", "acme.example", &sealed).unwrap(), b"secret");
        assert_eq!(opened_by(&keys, "dkim", "acme.example", &sealed).unwrap().unwrap().0, "a");
    }
}
