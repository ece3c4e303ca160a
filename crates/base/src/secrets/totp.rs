//! Codes of authenticator apps (RFC 6238 over RFC 4226): six digits from a shared secret and the half minute it is. SHA-1,
//! because apps take nothing else for granted; as a MAC it is sound. Thirty lines over the one crypto library we have, so
//! that no crate brings another.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key, sign};
use chrono::{DateTime, Utc};
use url::form_urlencoded;

pub const SECRET_BYTES: usize = 20;
const STEP_SECONDS: i64 = 30;
const DIGITS: usize = 6;
/// Clocks of phones are off by a little: one step before and after.
const OFF_BY: i64 = 1;

/// The step whose code this is, newer than the newest that was used. A code is good once.
pub fn step_of(secret: &[u8], code: &str, now: DateTime<Utc>, newest: i64) -> Option<i64> {
    let here = now.timestamp() / STEP_SECONDS;
    let mut found = None;
    // All are looked at, so that the time tells nothing.
    for step in here - OFF_BY..=here + OFF_BY {
        let fits = verify_slices_are_equal(code_at(secret, step).as_bytes(), code.as_bytes()).is_ok();
        if fits && step > newest {
            found = Some(step);
        }
    }
    found
}

/// The code of now, as an app shows it.
pub fn code(secret: &[u8], now: DateTime<Utc>) -> String {
    code_at(secret, now.timestamp() / STEP_SECONDS)
}

fn code_at(secret: &[u8], step: i64) -> String {
    let mac = sign(&Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret), &step.to_be_bytes());
    let mac = mac.as_ref();
    let at = usize::from(mac[mac.len() - 1] & 0x0f);
    let word = u32::from_be_bytes([mac[at], mac[at + 1], mac[at + 2], mac[at + 3]]) & 0x7fff_ffff;
    format!("{:0DIGITS$}", word % 10_u32.pow(DIGITS as u32))
}

/// Letters and digits that nobody mistakes for each other (RFC 4648), without padding.
pub fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let mut five = [0; 8];
        five[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(five);
        for place in 0..(chunk.len() * 8).div_ceil(5) {
            text.push(ALPHABET[(bits >> (35 - 5 * place)) as usize & 31] as char);
        }
    }
    text
}

/// What an app reads from the QR code.
pub fn uri(secret: &[u8], issuer: &str, account: &str) -> String {
    let escaped = |text: &str| {
        let plain: String = text.chars().map(|letter| if letter == ':' { ' ' } else { letter }).collect();
        form_urlencoded::byte_serialize(plain.as_bytes()).collect::<String>().replace('+', "%20")
    };
    format!(
        "otpauth://totp/{}:{}?secret={}&issuer={}",
        escaped(issuer),
        escaped(account),
        base32(secret),
        escaped(issuer)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    /// RFC 6238, appendix B, the last six of its eight digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let told = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000, 20_000_000_000];
        let codes = told.map(|seconds| code(SECRET, at(seconds)));
        assert_eq!(codes, ["287082", "081804", "050471", "005924", "279037", "353130"]);
    }

    #[test]
    fn a_code_is_good_once_and_for_a_minute_and_a_half() {
        let now = at(1_234_567_890);
        let own = code(SECRET, now);
        let step = step_of(SECRET, &own, now, 0).unwrap();
        assert_eq!(step_of(SECRET, &own, now, step), None, "used");
        assert_eq!(step_of(SECRET, &own, now + chrono::TimeDelta::seconds(30), 0), Some(step));
        assert_eq!(step_of(SECRET, &own, now - chrono::TimeDelta::seconds(30), 0), Some(step));
        assert_eq!(step_of(SECRET, &own, now + chrono::TimeDelta::seconds(60), 0), None, "too old");
        for wrong in ["", "1", "0059240", "00592x", "５"] {
            assert_eq!(step_of(SECRET, wrong, now, 0), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_are_written_as_apps_read_them() {
        assert_eq!(base32(SECRET), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6].map(|length| base32(&b"foobar"[..length])),
            ["", "MY", "MZXQ", "MZXW6", "MZXW6YQ", "MZXW6YTB", "MZXW6YTBOI"]
        );
        assert_eq!(
            uri(SECRET, "Acme: & Söhne", "ada@acme.example"),
            "otpauth://totp/Acme%20%20%26%20S%C3%B6hne:ada%40acme.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme%20%20%26%20S%C3%B6hne"
        );
    }
}
