//! Private links: their token is made from the server's secret key and what the link is for, so nothing
//! secret is stored and a link can be written again into a reminder (specification 4.9).

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::secrets::hashes::hmac;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::secret::SecretKey;

/// 256 bits that only this server can make. `purpose` keeps the tokens of one kind of page from another.
pub fn token(key: &SecretKey, purpose: &str, of: &str) -> String {
    URL_SAFE_NO_PAD.encode(hmac(&key.0, &[purpose.as_bytes(), &[0], of.as_bytes()]))
}

/// The first 128 bits of such a token, for an address that has to be short. Its purpose is none of the long ones'.
pub fn short_token(key: &SecretKey, purpose: &str, of: &str) -> [u8; 16] {
    let whole = hmac(&key.0, &[purpose.as_bytes(), &[0], of.as_bytes()]);
    let bytes: &[u8] = whole.as_ref();
    *bytes.first_chunk().expect("32 bytes")
}

/// Whether the token was made by this server, with its newest key or one that it had before.
pub fn is_ours(keys: &KeyRing, purpose: &str, of: &str, given: &str) -> bool {
    keys.all()
        .any(|(_, key)| verify_slices_are_equal(token(key, purpose, of).as_bytes(), given.as_bytes()).is_ok())
}

/// The same of a short one.
pub fn is_our_short(keys: &KeyRing, purpose: &str, of: &str, given: &[u8; 16]) -> bool {
    keys.all().any(|(_, key)| verify_slices_are_equal(&short_token(key, purpose, of), given).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_purpose_thing_or_key_is_another_token() {
        let key = SecretKey([1; 32]);
        let made = token(&key, "upload", "req_1");
        assert_eq!(made, token(&key, "upload", "req_1"));
        assert_eq!(made, "06F2zCqmj6qR-APZ6NiQ-qVs_KEkOxitx2uuQbwRJUM", "links that were sent stay good");
        for other in [
            token(&key, "secure", "req_1"),
            token(&key, "upload", "req_2"),
            token(&SecretKey([2; 32]), "upload", "req_1"),
        ] {
            assert_ne!(made, other);
        }
    }
}
