//! Private links: their token is made from the server's secret key and what the link is for, so nothing
//! secret is stored and a link can be written again into a reminder (specification 4.9).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::secret::SecretKey;

/// 256 bits that only this server can make. `purpose` keeps the tokens of one kind of page from another.
pub fn token(key: &SecretKey, purpose: &str, of: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.0).expect("HMAC takes a key of any length");
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(of.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_purpose_thing_or_key_is_another_token() {
        let key = SecretKey([1; 32]);
        let made = token(&key, "upload", "req_1");
        assert_eq!(made, token(&key, "upload", "req_1"));
        assert_eq!(made.len(), 43);
        for other in [
            token(&key, "secure", "req_1"),
            token(&key, "upload", "req_2"),
            token(&SecretKey([2; 32]), "upload", "req_1"),
        ] {
            assert_ne!(made, other);
        }
    }
}
