//! The encryption keys: `ROOKERY_SECRET_KEY` has one or several, each 32 bytes with an id, the newest first.
//!
//! The newest key encrypts and signs. All keys decrypt and verify, so that a key can be replaced while what was
//! made with it stays valid. The id of a key without one is its fingerprint.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};

use crate::error::Error;
use crate::secrets::hashes::sha256;
use crate::secrets::secret::{Secret, SecretKey};

pub const LONGEST_ID: usize = 32;
const FORM: &str = "secret_key and backup_key must be the base64 of 32 bytes, or several keys as id:base64 with commas \
                    between, the newest first";

/// Never empty.
#[derive(Clone)]
pub struct KeyRing(Vec<(String, SecretKey)>);

impl KeyRing {
    /// For whoever needs one that is not set.
    pub fn missing() -> Error {
        Error::internal("ROOKERY_SECRET_KEY is missing. Make one with: openssl rand -base64 32")
    }

    /// The key that encrypts and signs.
    pub fn newest(&self) -> &SecretKey {
        &self.0[0].1
    }

    pub fn newest_id(&self) -> &str {
        &self.0[0].0
    }

    /// All of them with their ids, the newest first.
    pub fn all(&self) -> impl Iterator<Item = (&str, &SecretKey)> {
        self.0.iter().map(|(id, key)| (id.as_str(), key))
    }
}

impl From<SecretKey> for KeyRing {
    fn from(key: SecretKey) -> Self {
        Self(vec![(fingerprint(&key), key)])
    }
}

impl FromStr for KeyRing {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let items = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|item| !item.is_empty());
        let mut ring: Vec<(String, SecretKey)> = Vec::new();
        for item in items {
            let (id, key) = match item.split_once(':') {
                Some((id, key)) => (Some(id), key),
                None => (None, item),
            };
            let bytes = STANDARD.decode(key).ok().and_then(|bytes| bytes.try_into().ok());
            let key = SecretKey(bytes.ok_or(FORM)?);
            let id = match id {
                Some(id) if is_an_id(id) => id.to_owned(),
                Some(_) => {
                    return Err(format!("{FORM}. An id has 1 to {LONGEST_ID} letters, digits, . _ or -"));
                }
                None => fingerprint(&key),
            };
            if ring.iter().any(|(other, there)| *other == id || there.0 == key.0) {
                return Err(format!("secret_key has the key {id} twice, or another one under its id"));
            }
            ring.push((id, key));
        }
        if ring.is_empty() { Err(FORM.to_owned()) } else { Ok(Self(ring)) }
    }
}

impl<'de> Deserialize<'de> for KeyRing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Secret::deserialize(deserializer)?.0.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|(id, _)| id)).finish()
    }
}

fn is_an_id(id: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(sound)
}

/// Identifies a key without revealing anything about it.
fn fingerprint(key: &SecretKey) -> String {
    let hash = sha256([b"key id\0", &key.0[..]].concat());
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base64(byte: u8) -> String {
        STANDARD.encode([byte; 32])
    }

    fn ids(text: &str) -> Vec<String> {
        let ring: KeyRing = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(ring.newest_id(), ring.all().next().unwrap().0);
        ring.all().map(|(id, _)| id.to_owned()).collect()
    }

    #[test]
    fn the_first_key_is_the_newest_and_a_bare_one_has_an_id_of_its_own() {
        let (one, two) = (base64(1), base64(2));
        let bare = ids(&one);
        assert_eq!(bare, ["6ec3069a"], "sealed secrets name it");
        assert_eq!(ids(&format!(" {one}\n")), bare);
        assert_ne!(ids(&two), bare);
        let ring: KeyRing = format!("2026-b:{two},{one}").parse().unwrap();
        assert_eq!((ring.newest().0, ring.newest_id()), ([2; 32], "2026-b"));
        for text in
            [format!("b:{two}, a:{one}"), format!("b:{two}\na:{one}\n"), format!(",b:{two} ,,\ta:{one}")]
        {
            assert_eq!(ids(&text), ["b", "a"]);
        }
        assert_eq!(ids(&format!("b:{two},{one}"))[1], bare[0], "a bare key keeps its id beside others");
    }

    #[test]
    fn an_invalid_key_ring_is_refused_without_showing_any_of_it() {
        let (one, two, short) = (base64(1), base64(2), STANDARD.encode([3; 31]));
        let wrong = [
            String::new(),
            " ,".into(),
            short.clone(),
            format!("a:{one},b:{short}"),
            format!("a:{one},b:"),
            format!(":{one}"),
            format!("a b:{one}"),
            format!("ä:{one}"),
            format!("{}:{one}", "x".repeat(33)),
            format!("a:{one},a:{two}"),
            format!("a:{one},b:{one}"),
        ];
        for text in wrong {
            let error = text.parse::<KeyRing>().err().unwrap_or_else(|| panic!("{text} was taken"));
            assert!(!error.contains(&one) && !error.contains(&two) && !error.contains(&short), "{error}");
        }
    }
}
