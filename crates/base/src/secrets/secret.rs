//! Secrets in memory: a text and a key that `Debug` does not show. Code that needs the value has to take it out
//! explicitly.

use std::fmt;

use serde::{Deserialize, Deserializer};

/// A text that no log shows.
#[derive(Clone)]
pub struct Secret(pub String);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match config::Value::deserialize(deserializer)?.kind {
            config::ValueKind::String(text) => Ok(Self(text)),
            // An unquoted number may have lost leading zeros. The error must not show it.
            _ => Err(serde::de::Error::custom("a secret must be in quotes")),
        }
    }
}

/// The 32 bytes from which all signing and encryption keys of the service are derived.
#[derive(Clone)]
pub struct SecretKey(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
