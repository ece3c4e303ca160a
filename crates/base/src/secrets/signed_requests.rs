//! Requests that are signed as Standard Webhooks has it: HMAC-SHA256 over id, time and body with a shared secret.
//! Rookery signs what webhooks are sent, and checks what connected services send.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::Tag;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::random::Random;
use crate::secrets::hashes::hmac;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::sealed;

const PREFIX: &str = "whsec_";
/// How far a request's time may be from ours: what somebody overheard is worth nothing later.
const TOLERANCE_SECONDS: u64 = 300;
/// Signatures of one request that are looked at: a secret that is being changed needs two.
const MOST_SIGNATURES: usize = 5;

/// 32 bytes that both sides know.
#[derive(Clone, PartialEq)]
pub struct SharedSecret([u8; 32]);

impl SharedSecret {
    pub fn new(random: &Random) -> Self {
        Self(random.bytes())
    }

    /// As it is shown, once.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    pub fn seal(&self, keys: &KeyRing, random: &Random, purpose: &str, context: &str) -> Result<Vec<u8>> {
        sealed::seal(keys, random, purpose, context, &self.0)
    }

    pub fn open(stored: &[u8], keys: &KeyRing, purpose: &str, context: &str) -> Result<Self> {
        let opened = sealed::open(keys, purpose, context, stored)?;
        let bytes = opened.try_into().map_err(|_| Error::internal("a signing secret has another length"))?;
        Ok(Self(bytes))
    }

    /// `v1,` and the signature of id, time and body.
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        format!("v1,{}", STANDARD.encode(mac(&self.0, id, seconds, body)))
    }
}

fn mac(key: &[u8], id: &str, seconds: i64, body: &[u8]) -> Tag {
    hmac(key, &[id.as_bytes(), format!(".{seconds}.").as_bytes(), body])
}

impl std::str::FromStr for SharedSecret {
    type Err = &'static str;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| STANDARD.decode(text).ok());
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or("not a webhook secret")
    }
}

/// What the head of a request says of its signature: enough to refuse most of what is not signed before the body is
/// read.
pub struct Signature<'a> {
    id: &'a str,
    seconds: i64,
    given: Vec<[u8; 32]>,
}

impl<'a> Signature<'a> {
    /// Nothing where it is not fresh, or none of the first signatures has the form of one. `signatures` are one or
    /// more, with spaces between.
    pub fn read(id: &'a str, seconds: i64, signatures: &str, now: DateTime<Utc>) -> Option<Self> {
        let given = signatures.split(' ').take(MOST_SIGNATURES);
        let given = given
            .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok()?.try_into().ok());
        let given: Vec<_> = given.collect();
        let is_fresh = now.timestamp().abs_diff(seconds) <= TOLERANCE_SECONDS;
        (is_fresh && !given.is_empty()).then_some(Self { id, seconds, given })
    }

    /// Whether one of the signatures is the secret's. The body is gone over once, however many there are.
    pub fn is_by(&self, secret: &SharedSecret, body: &[u8]) -> bool {
        self.is_by_key(&secret.0, body)
    }

    /// The same with a key of another length, as services make them.
    pub fn is_by_key(&self, key: &[u8], body: &[u8]) -> bool {
        let right = mac(key, self.id, self.seconds, body);
        self.given.iter().any(|given| verify_slices_are_equal(right.as_ref(), given).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    /// The example of the Standard Webhooks specification.
    ///
    /// proves: WH-11
    #[test]
    fn a_signature_is_the_one_of_standard_webhooks() {
        let key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signed = br#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#;
        let wanted = format!("v1,{}", STANDARD.encode(hmac(&STANDARD.decode(key).unwrap(), &[signed])));
        assert_eq!(wanted, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let secret = SharedSecret([3; 32]);
        let wanted = "v1,zh8iRQdsHp2Z5aoxqICE9k3qtMpNXvMz6XcUuE02aDo=";
        assert_eq!(secret.sign("evt_1", 1_614_265_330, b"{}"), wanted);
    }

    /// proves: WH-13
    #[test]
    fn a_secret_is_shown_as_32_bytes_behind_its_prefix() {
        let text = SharedSecret::new(&Random::seeded(1)).text();
        assert_eq!(STANDARD.decode(text.strip_prefix("whsec_").unwrap()).unwrap().len(), 32);
        assert_eq!(text.parse::<SharedSecret>().unwrap().text(), text);
        assert!("whsec_AAAA".parse::<SharedSecret>().is_err());
    }

    #[test]
    fn a_request_is_signed_only_whole_unchanged_and_for_five_minutes() {
        let (secret, other) = (SharedSecret([3; 32]), SharedSecret([4; 32]));
        let now = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        let seconds = now.timestamp();
        let right = secret.sign("n1", seconds, b"{}");
        let two = format!("{} {right}", other.sign("n1", seconds, b"{}"));
        let signed = |id, seconds, signatures: &str, body: &[u8], secret: &SharedSecret, now| {
            Signature::read(id, seconds, signatures, now).is_some_and(|read| read.is_by(secret, body))
        };
        assert!(signed("n1", seconds, &right, b"{}", &secret, now));
        assert!(signed("n1", seconds, &two, b"{}", &secret, now));
        assert!(!signed("n2", seconds, &right, b"{}", &secret, now));
        assert!(!signed("n1", seconds + 1, &right, b"{}", &secret, now));
        assert!(!signed("n1", seconds, &right, b"{ }", &secret, now));
        assert!(!signed("n1", seconds, &right, b"{}", &other, now));
        let other_version = right.replace("v1", "v2");
        for wrong in ["", "v1,", "v1,AAAA", &right[3..], &other_version] {
            assert!(!signed("n1", seconds, wrong, b"{}", &secret, now), "{wrong}");
        }
        for (apart, fresh) in [(300, true), (301, false), (-300, true), (-301, false)] {
            let now = now + TimeDelta::seconds(apart);
            assert_eq!(signed("n1", seconds, &right, b"{}", &secret, now), fresh, "{apart}");
        }
        let never = secret.sign("n1", i64::MIN, b"{}");
        assert!(!signed("n1", i64::MIN, &never, b"{}", &secret, now));
    }

    #[test]
    fn of_many_signatures_the_first_five_count() {
        let (secret, other) = (SharedSecret([3; 32]), SharedSecret([4; 32]));
        let now = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        let (right, wrong) =
            (secret.sign("n1", now.timestamp(), b"{}"), other.sign("n1", now.timestamp(), b"{}"));
        for (before, fits) in [(4, true), (5, false)] {
            let signatures = [vec![wrong.as_str(); before], vec![right.as_str()]].concat().join(" ");
            let read = Signature::read("n1", now.timestamp(), &signatures, now).unwrap();
            assert_eq!(read.is_by(&secret, b"{}"), fits, "after {before}");
        }
    }
}
