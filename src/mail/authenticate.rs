//! Who wrote a mail, as far as DNS can tell: SPF, DKIM, DMARC (RFC 9989) and ARC by `mail-auth`.
//!
//! Only our own check counts: what other servers wrote into the header is never read. DMARC passes only for a
//! mail with exactly one From mailbox; anything else, and any failed lookup, is not a pass. A signature vouches for
//! the fields it covers and for no others, so that a signed mail cannot be sent on with other ones. ARC is written
//! down and changes nothing.

mod ask;
mod signed;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use mail_auth::common::crypto::HashAlgorithm;
use mail_auth::dkim::Canonicalization;
use mail_auth::dmarc::Policy;
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DkimResult, DmarcOutput, DmarcResult, MessageAuthenticator, Parameters,
    SpfOutput, SpfResult,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

pub use self::ask::Asked;
use self::ask::{Exists, Records, Sender};
use crate::dns;
use crate::error::{Error, Result};
use crate::mail::organization;
use crate::mail::parse::ParsedMail;
use crate::mail::thread::Dmarc;

pub use self::signed::Part;

/// Hashing more than this takes a moment: not on the threads that answer requests.
const LARGE: usize = 256 * 1024;
/// Large mails that are hashed at the same time.
const HASHED_AT_ONCE: usize = 4;
const CACHED_RECORDS: u64 = 20_000;

/// What one check said, in the words of RFC 8601.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    Pass,
    Fail,
    SoftFail,
    Neutral,
    TempError,
    PermError,
    #[default]
    None,
}

/// Everything that was found out about where a mail came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub spf: Check,
    /// The domain that SPF was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spf_domain: Option<String>,
    /// The best of all signatures.
    pub dkim: Check,
    /// Domains whose signature is good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dkim_domains: Vec<String>,
    pub dmarc: Check,
    pub arc: Check,
    /// What the sender's domain vouches for when DMARC passes, beside From and the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vouched: Vec<Part>,
    /// The envelope named no sender, as for bounces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null_sender: bool,
    /// The author's domain asks that mail like this be refused, because DMARC failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwanted: bool,
    /// And the operator holds what is unwanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// How much is known of a mail's sender. A copy of a mail is the same mail only if it is known as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Standing {
    /// The sender's domain says that it is not from it.
    Denied,
    Unknown,
    /// The sender's domain has nothing to say, but SPF or a signature of its own is good.
    Plausible,
    Confirmed,
}

/// The other side of the connection, as it gave itself.
pub struct Origin<'a> {
    /// Unknown when another server of ours took the mail in and did not say.
    pub address: Option<IpAddr>,
    pub helo: &'a str,
    /// Empty for bounces.
    pub mail_from: &'a str,
}

pub struct Authenticator {
    resolver: MessageAuthenticator,
    /// Our own name, which SPF macros may ask for.
    name: String,
    hashing: Semaphore,
}

impl Verdict {
    /// Mail that nobody checked: imported, or simulated with the DMARC result that was asked for.
    pub fn unchecked(dmarc: Dmarc) -> Self {
        let dmarc = match dmarc {
            Dmarc::Pass => Check::Pass,
            Dmarc::Fail => Check::Fail,
            Dmarc::Unknown => Check::None,
        };
        let vouched = if dmarc == Check::Pass { Part::ALL.to_vec() } else { Vec::new() };
        Self { dmarc, vouched, ..Self::default() }
    }

    pub fn is_confirmed(&self) -> bool {
        self.dmarc == Check::Pass
    }

    pub fn vouches_for(&self, part: Part) -> bool {
        self.is_confirmed() && self.vouched.contains(&part)
    }

    pub fn standing(&self, sender: Option<&str>) -> Standing {
        let its_own = |domain: &String| sender.is_some_and(|sender| organization::is_shared(domain, sender));
        let sent = self.spf_domain.iter().filter(|_| self.spf == Check::Pass);
        match self.dmarc {
            Check::Pass => Standing::Confirmed,
            Check::Fail => Standing::Denied,
            _ if self.dkim_domains.iter().chain(sent).any(its_own) => Standing::Plausible,
            _ => Standing::Unknown,
        }
    }

    pub fn dmarc(&self) -> Dmarc {
        match self.dmarc {
            Check::Pass => Dmarc::Pass,
            Check::Fail => Dmarc::Fail,
            _ => Dmarc::Unknown,
        }
    }
}

impl Check {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::SoftFail => "softfail",
            Self::Neutral => "neutral",
            Self::TempError => "temperror",
            Self::PermError => "permerror",
            Self::None => "none",
        }
    }
}

impl Authenticator {
    /// Asks the given name servers, or those of the operating system.
    pub fn new(servers: &[SocketAddr], name: &str) -> Result<Self> {
        let (config, mut options) = dns::settings(servers)?;
        options.cache_size = CACHED_RECORDS;
        options.timeout = Duration::from_secs(2);
        options.attempts = 2;
        let resolver = MessageAuthenticator::new(config, options).map_err(Error::internal)?;
        Ok(Self { resolver, name: name.to_owned(), hashing: Semaphore::new(HASHED_AT_ONCE) })
    }

    /// What the answers mean for the whole mail. Asks nobody any more.
    pub async fn judge(&self, asked: Asked<'_>, mail: &ParsedMail, raw: &Bytes) -> Verdict {
        let Asked { mail: mut header, sender, records, too_many, arc_too_long, inherited } = asked;
        let kinds: Vec<Kind> =
            header.body_hashes.iter().map(|(how, hash, length, _)| (*how, *hash, *length)).collect();
        let hashes = self.body_hashes(raw, header.body_offset as usize, kinds.clone()).await;
        header.body_hashes = kinds.into_iter().zip(hashes).map(|((a, b, c), hash)| (a, b, c, hash)).collect();
        let header = header;
        let dkim = self.resolver.verify_dkim(Parameters::new(&header).with_txt_cache(&records)).await;
        let arc = self.resolver.verify_arc(Parameters::new(&header).with_txt_cache(&records)).await;
        let signed: Vec<String> = passed(&dkim)
            .filter_map(|output| output.signature())
            .map(|signature| signature.d.clone())
            .collect();
        // Two readers of one header may disagree; then nobody vouches for anybody.
        let author = mail.from.as_ref().filter(|_| mail.single_from);
        let agreed = match (author, header.from.as_slice()) {
            (Some(ours), [theirs]) => ours.email.eq_ignore_ascii_case(theirs),
            _ => false,
        };
        let (dmarc, policy, by_spf) = match agreed {
            false => (Check::None, Policy::Unspecified, false),
            true => {
                let found = self.dmarc(&header, &dkim, &sender, &records).await;
                let by_spf = *found.spf_result() == DmarcResult::Pass;
                (of_dmarc(&found.result()), inherited.unwrap_or(found.policy()), by_spf)
            }
        };
        let vouched = match dmarc {
            // Its own server handed the mail over, as it is and for whom it is.
            Check::Pass if by_spf => Part::ALL.to_vec(),
            Check::Pass => self.signed(&header, &dkim, &records).await,
            _ => Vec::new(),
        };
        Verdict {
            spf: of_spf(sender.spf.result()),
            spf_domain: Some(sender.domain).filter(|domain| !domain.is_empty()),
            dkim: if too_many { Check::PermError } else { best(&dkim) },
            dkim_domains: signed,
            dmarc,
            vouched,
            arc: if arc_too_long { Check::PermError } else { of_dkim(arc.result()) },
            null_sender: false,
            unwanted: dmarc == Check::Fail && policy == Policy::Reject,
            held: false,
        }
    }

    /// What the signatures of the sender's own domain cover.
    async fn signed(
        &self,
        header: &AuthenticatedMessage<'_>,
        dkim: &[DkimOutput<'_>],
        records: &Records,
    ) -> Vec<Part> {
        let nobody = Sender { spf: SpfOutput::new(String::new()), domain: String::new() };
        let mut covered = Vec::new();
        for output in passed(dkim) {
            let Some(signature) = output.signature() else { continue };
            let alone = self.dmarc(header, std::slice::from_ref(output), &nobody, records).await;
            if of_dmarc(&alone.result()) == Check::Pass {
                covered.extend(signed::covered(&header.headers, &signature.h));
            }
        }
        covered.sort();
        covered.dedup();
        covered
    }

    async fn dmarc(
        &self,
        header: &AuthenticatedMessage<'_>,
        dkim: &[DkimOutput<'_>],
        sender: &Sender,
        records: &Records,
    ) -> DmarcOutput {
        let asked = DmarcParameters::new(header, dkim, &sender.domain, &sender.spf);
        let asked = Parameters::new(asked).with_txt_cache(records).with_ipv4_cache(&Exists);
        self.resolver.verify_dmarc(asked).await
    }

    async fn body_hashes(&self, raw: &Bytes, from: usize, kinds: Vec<Kind>) -> Vec<Vec<u8>> {
        let (whole, count) = (raw.clone(), kinds.len());
        let hashes = move || {
            let body = whole.get(from..).unwrap_or_default();
            let hash =
                |(how, hash, length): &Kind| hash.hash(how.canonical_body(body, *length)).as_ref().to_vec();
            kinds.iter().map(hash).collect()
        };
        if raw.len() < LARGE {
            return hashes();
        }
        let _turn = self.hashing.acquire().await;
        tokio::task::spawn_blocking(hashes).await.unwrap_or_else(|_| vec![Vec::new(); count])
    }
}

/// How a body is hashed: its form, the algorithm, and how much of it.
type Kind = (Canonicalization, HashAlgorithm, u64);

fn domain_of<'a>(origin: &Origin<'a>) -> &'a str {
    origin.mail_from.rsplit_once('@').map_or(origin.helo, |(_, domain)| domain)
}

fn passed<'a, 'x>(outputs: &'a [DkimOutput<'x>]) -> impl Iterator<Item = &'a DkimOutput<'x>> {
    outputs.iter().filter(|output| *output.result() == DkimResult::Pass)
}

fn best(outputs: &[DkimOutput]) -> Check {
    const ORDER: [Check; 5] = [Check::Pass, Check::TempError, Check::Fail, Check::PermError, Check::Neutral];
    let found: Vec<Check> = outputs.iter().map(|output| of_dkim(output.result())).collect();
    ORDER.into_iter().find(|check| found.contains(check)).unwrap_or_default()
}

/// `mail-auth` calls a changed body "neutral". To a reader, a signature that does not fit has failed.
fn of_dkim(result: &DkimResult) -> Check {
    match result {
        DkimResult::Pass => Check::Pass,
        DkimResult::Fail(_) => Check::Fail,
        DkimResult::Neutral(mail_auth::Error::Dkim(mail_auth::dkim::DkimError::FailedBodyHashMatch)) => {
            Check::Fail
        }
        DkimResult::Neutral(_) => Check::Neutral,
        DkimResult::TempError(_) => Check::TempError,
        DkimResult::PermError(_) => Check::PermError,
        DkimResult::None => Check::None,
    }
}

fn of_dmarc(result: &DmarcResult) -> Check {
    match result {
        DmarcResult::Pass => Check::Pass,
        DmarcResult::Fail(_) => Check::Fail,
        DmarcResult::TempError(_) => Check::TempError,
        DmarcResult::PermError(_) => Check::PermError,
        DmarcResult::None => Check::None,
    }
}

fn of_spf(result: SpfResult) -> Check {
    match result {
        SpfResult::Pass => Check::Pass,
        SpfResult::Fail => Check::Fail,
        SpfResult::SoftFail => Check::SoftFail,
        SpfResult::Neutral => Check::Neutral,
        SpfResult::TempError => Check::TempError,
        SpfResult::PermError => Check::PermError,
        SpfResult::None => Check::None,
    }
}
