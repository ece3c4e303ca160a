//! MTA-STS (RFC 8461): a domain publishes over HTTPS which mail servers it has, and that they must be reached over
//! TLS with a certificate that is valid for their name.
//!
//! A policy is cached for its whole lifetime, so that an attacker who blocks its DNS record cannot make it go
//! away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{HeaderValue, USER_AGENT};
use url::{Position, Url};

use crate::net::dns::Dns;
use crate::net::outside::Outside;

const MOST_BYTES: usize = 64 << 10;
/// Longest lifetime of a policy, and how long until it is checked again.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);
const ASKED_AGAIN: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Enforce,
    Testing,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub mode: Mode,
    pub max_age: Duration,
    pub mx: Vec<String>,
}

impl Policy {
    pub fn parse(text: &str) -> Option<Self> {
        let (mut version, mut mode, mut max_age, mut mx) = (None, None, None, Vec::new());
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.split_once(':')?;
            let value = value.trim();
            match key.trim() {
                "version" => version = version.or(Some(value)),
                "mode" => {
                    mode = mode.or(Some(match value {
                        "enforce" => Mode::Enforce,
                        "testing" => Mode::Testing,
                        "none" => Mode::None,
                        _ => return None,
                    }));
                }
                "max_age" => max_age = max_age.or(Some(value.parse().ok()?)),
                "mx" => mx.push(value.to_ascii_lowercase()),
                // Unknown keys of later versions.
                _ => {}
            }
        }
        let (mode, max_age) = (mode?, Duration::from_secs(max_age?));
        let whole = version == Some("STSv1") && (mode == Mode::None || !mx.is_empty());
        whole.then_some(Self { mode, max_age: max_age.min(LONGEST), mx })
    }

    /// Whether this is one of the domain's servers. A star stands for one label.
    pub fn names(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is = |pattern: &String| match pattern.strip_prefix("*.") {
            Some(rest) => {
                host.split_once('.').is_some_and(|(label, domain)| !label.is_empty() && domain == rest)
            }
            None => host == *pattern,
        };
        self.mx.iter().any(is)
    }
}

/// The policy id in the DNS record; it changes with the policy.
pub fn id(texts: &[String]) -> Option<String> {
    let ours: Vec<&String> = texts.iter().filter(|text| text.starts_with("v=STSv1;")).collect();
    let [one] = ours[..] else { return None };
    let tag = |part: &str| part.trim().strip_prefix("id=").map(str::to_owned);
    one.split(';').find_map(tag).filter(|id| !id.is_empty() && id.len() <= 32)
}

struct Known {
    id: Option<String>,
    policy: Option<Policy>,
    until: Instant,
    asked: Instant,
}

/// Fetches and caches the policies of domains.
pub struct Policies {
    outside: Arc<Outside>,
    /// The HTTPS port; not 443 only in tests.
    port: u16,
    known: Mutex<HashMap<String, Known>>,
}

impl Policies {
    pub fn new(outside: Arc<Outside>, port: u16) -> Self {
        Self { outside, port, known: Mutex::default() }
    }

    /// `None` when the domain has no policy, or it cannot be fetched and is not cached.
    pub async fn for_domain(&self, domain: &str, dns: &Dns) -> Option<Policy> {
        let now = Instant::now();
        let before = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(domain).map(|known| (known.id.clone(), known.policy.clone(), known.until, known.asked))
        };
        let believed =
            before.as_ref().and_then(|(_, policy, until, _)| policy.clone().filter(|_| *until > now));
        if before.as_ref().is_some_and(|(.., asked)| now.duration_since(*asked) < ASKED_AGAIN) {
            return believed;
        }
        let id = dns.texts(&format!("_mta-sts.{domain}")).await.ok().and_then(|texts| id(&texts));
        let same = believed.is_some() && before.is_some_and(|(before, ..)| before == id);
        let fetched = match &id {
            Some(_) if !same => self.fetch(domain).await,
            _ => None,
        };
        let policy = fetched.clone().or(believed);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = known.entry(domain.to_owned()).or_insert(Known {
            id: None,
            policy: None,
            until: now,
            asked: now,
        });
        entry.asked = now;
        if let Some(fetched) = fetched {
            *entry = Known { id, until: now + fetched.max_age, policy: Some(fetched), asked: now };
        }
        policy
    }

    async fn fetch(&self, domain: &str) -> Option<Policy> {
        let mut url: Url = format!("https://mta-sts.{domain}/.well-known/mta-sts.txt").parse().ok()?;
        url.set_port(Some(self.port)).ok()?;
        let request = Request::builder()
            .uri(&url[Position::BeforePath..Position::AfterQuery])
            .header(USER_AGENT, HeaderValue::from_static("Rookery/1"))
            .body(Full::<Bytes>::default())
            .ok()?;
        let to = self.outside.check(&url).await.ok()?;
        let answer = self.outside.send(&to, request, MOST_BYTES + 1).await.ok()?;
        let whole = answer.status == 200 && answer.body.len() <= MOST_BYTES;
        let policy = whole.then(|| Policy::parse(std::str::from_utf8(&answer.body).ok()?)).flatten();
        if policy.is_none() {
            tracing::warn!(domain, status = answer.status, "a domain's MTA-STS policy cannot be used");
        }
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENFORCE: &str =
        "version: STSv1\r\nmode: enforce\r\nmx: mx.acme.example\r\nmx: *.pool.example\r\nmax_age: 86400\r\n";

    #[test]
    fn a_policy_is_read_whole_or_not_at_all() {
        let policy = Policy::parse(ENFORCE).unwrap();
        assert_eq!((policy.mode, policy.max_age), (Mode::Enforce, Duration::from_secs(86_400)));
        assert_eq!(
            Policy::parse("version: STSv1\nmode: none\nmax_age: 1\nlater: x\n").unwrap().mode,
            Mode::None
        );
        let ever = ENFORCE.replace("86400", "99999999999");
        assert_eq!(Policy::parse(&ever).unwrap().max_age, LONGEST, "nobody is believed for ever");
        for (from, to) in [
            ("STSv1", "STSv2"),
            ("mode: enforce\r\n", ""),
            ("mode: enforce", "mode: perhaps"),
            ("max_age: 86400", "max_age: -1"),
            ("max_age: 86400", "max_age: soon"),
            ("max_age: 86400\r\n", ""),
            ("mx: mx.acme.example\r\nmx: *.pool.example\r\n", ""),
            ("mx: mx.acme.example", "<html>"),
        ] {
            assert_eq!(Policy::parse(&ENFORCE.replace(from, to)), None, "{from} → {to}");
        }
        assert_eq!(Policy::parse(""), None);
    }

    #[test]
    fn a_star_stands_for_one_label() {
        let policy = Policy::parse(ENFORCE).unwrap();
        for (host, named) in [
            ("mx.acme.example", true),
            ("MX.Acme.Example.", true),
            ("a.pool.example", true),
            ("a.b.pool.example", false),
            ("pool.example", false),
            (".pool.example", false),
            ("xpool.example", false),
            ("acme.example", false),
            ("mx.acme.example.evil.example", false),
        ] {
            assert_eq!(policy.names(host), named, "{host}");
        }
    }

    #[test]
    fn a_row_of_dns_counts_when_there_is_one_with_an_id() {
        let rows = |rows: &[&str]| id(&rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>());
        assert_eq!(rows(&["v=spf1 -all", "v=STSv1; id=20260101;"]).as_deref(), Some("20260101"));
        for wrong in [
            &[][..],
            &["v=STSv1;"],
            &["v=STSv1; id=;"],
            &["v=STSv2; id=1"],
            &["v=STSv1; id=1", "v=STSv1; id=2"],
        ] {
            assert_eq!(rows(wrong), None, "{wrong:?}");
        }
    }
}
