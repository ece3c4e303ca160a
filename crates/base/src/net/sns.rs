//! The two things that messages of Amazon SNS make us ask Amazon for: the certificate of whoever signed, and the address
//! that confirms a subscription. Both are addresses that a stranger wrote into a request, so nothing is asked that is not a
//! host of SNS by https, and never by another way than the guarded client.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http_body_util::Full;
use hyper::Request;
use hyper::header::{HeaderValue, USER_AGENT};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::ParsedCertificate;
use tokio::sync::Semaphore;
use url::{Position, Url};

use crate::net::outside::{Outside, OutsideFailure};

/// A certificate is asked for again after a day.
const KEPT: TimeDelta = TimeDelta::hours(24);
/// A host that could not give one is not asked again at once.
const WAITS: TimeDelta = TimeDelta::seconds(30);
/// There is one for each region, and a new one now and then.
const MOST: usize = 200;
const MOST_BYTES: usize = 32 << 10;
/// Strangers may make us ask, but not often at once.
const AT_ONCE: usize = 2;

/// Why there is no answer of SNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnsTrouble {
    /// The address is not one of SNS.
    NotSns,
    /// SNS could not be asked now.
    Unreachable,
}

pub struct Sns {
    keys: Mutex<HashMap<String, Known>>,
    turns: Semaphore,
}

struct Known {
    /// The public key, or nothing when there was no certificate.
    key: Option<Vec<u8>>,
    until: DateTime<Utc>,
}

impl Default for Sns {
    fn default() -> Self {
        Self { keys: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }
}

impl Sns {
    /// The public key (DER) of the certificate at an address of SNS.
    pub async fn key(
        &self,
        outside: &Outside,
        address: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<u8>, SnsTrouble> {
        let url = an_address(address).filter(|url| url.path().ends_with(".pem")).ok_or(SnsTrouble::NotSns)?;
        if let Some(known) = self.known(url.as_str(), now) {
            return known.ok_or(SnsTrouble::Unreachable);
        }
        let _turn = self.turns.acquire().await.map_err(|_| SnsTrouble::Unreachable)?;
        if let Some(known) = self.known(url.as_str(), now) {
            return known.ok_or(SnsTrouble::Unreachable);
        }
        let answer = get(outside, &url).await.ok();
        let key = answer.and_then(|body| public_key(&body));
        self.remember(url.as_str(), key.clone(), now);
        key.ok_or(SnsTrouble::Unreachable)
    }

    /// Opens the address that says yes to a subscription.
    pub async fn confirm(&self, outside: &Outside, address: &str) -> Result<(), SnsTrouble> {
        let url = an_address(address).ok_or(SnsTrouble::NotSns)?;
        get(outside, &url).await.map(|_| ()).map_err(|_| SnsTrouble::Unreachable)
    }

    fn known(&self, address: &str, now: DateTime<Utc>) -> Option<Option<Vec<u8>>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(address).filter(|known| known.until > now).map(|known| known.key.clone())
    }

    /// What was found at an address, for a while.
    pub fn remember(&self, address: &str, key: Option<Vec<u8>>, now: DateTime<Utc>) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MOST && !keys.contains_key(address) {
            // What is good stays as long as there are others to drop.
            keys.retain(|_, known| known.until > now && known.key.is_some());
            if keys.len() >= MOST {
                keys.clear();
            }
        }
        let until = now + if key.is_some() { KEPT } else { WAITS };
        keys.insert(address.to_owned(), Known { key, until });
    }
}

/// The public key of a certificate in PEM.
pub fn public_key(pem: &[u8]) -> Option<Vec<u8>> {
    let certificate = CertificateDer::from_pem_slice(pem).ok()?;
    let parsed = ParsedCertificate::try_from(&certificate).ok()?;
    Some(parsed.subject_public_key_info().to_vec())
}

/// An https address of `sns.<region>.amazonaws.com`, on the usual port and without a name or password.
pub fn an_address(text: &str) -> Option<Url> {
    if text.len() > 2048 {
        return None;
    }
    let url: Url = text.parse().ok()?;
    let plain = url.scheme() == "https" && url.port().is_none() && url.username().is_empty();
    let host = url.host_str()?.strip_prefix("sns.")?;
    let region = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
    let sound = (3..=40).contains(&region.len())
        && region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (plain && url.password().is_none() && sound).then_some(url)
}

async fn get(outside: &Outside, url: &Url) -> Result<Vec<u8>, OutsideFailure> {
    let request = Request::builder()
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(USER_AGENT, HeaderValue::from_static("Rookery/1"))
        .body(Full::<Bytes>::default())
        .map_err(|_| OutsideFailure::Internal)?;
    let to = outside.check(url).await?;
    let answer = outside.send(&to, request, MOST_BYTES).await?;
    if answer.status == 200 { Ok(answer.body) } else { Err(OutsideFailure::Closed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_sns_are_asked() {
        for right in [
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-ac565b8b1a6c5d002d285f9598aa1d9b.pem",
            "https://sns.us-gov-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336",
            "https://sns.cn-north-1.amazonaws.com.cn/x.pem",
        ] {
            assert!(an_address(right).is_some(), "{right}");
        }
        for wrong in [
            "http://sns.eu-west-1.amazonaws.com/x.pem",
            "https://sns.eu-west-1.amazonaws.com:8443/x.pem",
            "https://user@sns.eu-west-1.amazonaws.com/x.pem",
            "https://sns.eu-west-1.amazonaws.com.evil.example/x.pem",
            "https://evil.example/sns.eu-west-1.amazonaws.com/x.pem",
            "https://sns.evil.example#.amazonaws.com/x.pem",
            "https://sns.a.b.amazonaws.com/x.pem",
            "https://bucket.s3.amazonaws.com/x.pem",
            "https://sns..amazonaws.com/x.pem",
            "https://sns.amazonaws.com/x.pem",
            "https://sns.eu-west-1.amazonaws.com@evil.example/x.pem",
            "file:///etc/passwd",
            "https://10.0.0.1/x.pem",
            "",
        ] {
            assert!(an_address(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn what_was_found_is_kept_for_a_day_and_what_was_not_for_a_moment() {
        let (sns, now) = (Sns::default(), "2031-01-06T12:00:00Z".parse().unwrap());
        sns.remember("a", Some(vec![1]), now);
        sns.remember("b", None, now);
        assert_eq!((sns.known("a", now), sns.known("b", now)), (Some(Some(vec![1])), Some(None)));
        let later = now + WAITS;
        assert_eq!((sns.known("a", later), sns.known("b", later)), (Some(Some(vec![1])), None));
        assert_eq!(sns.known("a", now + KEPT), None);
        for number in 0..10 * MOST {
            sns.remember(&format!("x{number}"), None, now);
        }
        assert_eq!(sns.known("a", now), Some(Some(vec![1])), "a flood of others does not drop it");
        assert!(sns.keys.lock().unwrap().len() <= MOST + 1);
    }
}
