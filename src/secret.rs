//! Secrets in memory: a text and a key that no log and no error shows.
//! Whoever needs the value says so, by taking it out.

use std::fmt;

use serde::{Deserialize, Deserializer};

/// A text that no log shows.
#[derive(Clone)]
pub struct Secret(pub String);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match config::Value::deserialize(deserializer)?.kind {
            config::ValueKind::String(text) => Ok(Self(text)),
            // A number of a file may have lost its zeros. The error must not show it.
            _ => Err(serde::de::Error::custom("a secret must stand in quotes")),
        }
    }
}

/// 32 bytes that everything the service signs or encrypts for itself is derived from.
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
