//! SHA-2 and HMAC, by the crypto library that TLS uses too. What rows, links and signatures hold was made with these,
//! so they never change.

use aws_lc_rs::digest::{self, Context, Digest, SHA256};
use aws_lc_rs::hmac::{HMAC_SHA256, Key, Tag};

/// SHA-256 of what comes piece by piece.
#[derive(Clone)]
pub struct Sha256(Context);

impl Sha256 {
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    pub fn finish(self) -> [u8; 32] {
        whole(&self.0.finish())
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    whole(&digest::digest(&SHA256, bytes.as_ref()))
}

/// The first eight bytes, for a column that is a number.
pub fn number(hash: [u8; 32]) -> i64 {
    i64::from_be_bytes(*hash.first_chunk().expect("32 bytes"))
}

/// HMAC-SHA256 over the parts as one text. Compare it with what somebody gave in constant time.
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> Tag {
    let mut mac = aws_lc_rs::hmac::Context::with_key(&Key::new(HMAC_SHA256, key));
    parts.iter().for_each(|part| mac.update(part));
    mac.sign()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 bytes in hexadecimal digits.
pub fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (place, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *place = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

fn whole(digest: &Digest) -> [u8; 32] {
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
