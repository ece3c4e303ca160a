//! Who wrote a mail, as far as DNS can tell: SPF, DKIM, DMARC (RFC 9989) and ARC by `mail-auth`.
//!
//! Only our own check counts: what other servers wrote into the header is never read. DMARC passes only for a
//! mail with exactly one From mailbox; anything else, and any failed lookup, is not a pass. ARC is written
//! down and changes nothing.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::spf::verify::SpfParameters;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DkimResult, DmarcResult, MessageAuthenticator, Parameters, SpfOutput,
    SpfResult,
};
use serde::{Deserialize, Serialize};

use crate::dns;
use crate::error::{Error, Result};
use crate::mail::parse::ParsedMail;
use crate::mail::thread::Dmarc;

/// All lookups for one mail together. A sender whose DNS does not answer must not hold up its mail.
const PATIENCE: Duration = Duration::from_secs(20);
/// Signatures of one mail that are looked at; each can cost a lookup and a hash of the whole body.
const MOST_SIGNATURES: usize = 20;
/// Hashing more than this takes a moment: not on the threads that answer requests.
const LARGE: usize = 256 * 1024;
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
    /// The envelope named no sender, as for bounces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null_sender: bool,
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
}

impl Verdict {
    /// Mail that nobody checked: imported, or simulated with the DMARC result that was asked for.
    pub fn unchecked(dmarc: Dmarc) -> Self {
        let dmarc = match dmarc {
            Dmarc::Pass => Check::Pass,
            Dmarc::Fail => Check::Fail,
            Dmarc::Unknown => Check::None,
        };
        Self { dmarc, ..Self::default() }
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
        options.timeout = Duration::from_secs(3);
        options.attempts = 2;
        let resolver = MessageAuthenticator::new(config, options).map_err(Error::internal)?;
        Ok(Self { resolver, name: name.to_owned() })
    }

    /// Takes at most twenty seconds, and never fails: what cannot be looked up is a `temperror`.
    pub async fn authenticate(&self, origin: &Origin<'_>, mail: &ParsedMail, raw: &Bytes) -> Verdict {
        let author = mail.from.as_ref().filter(|_| mail.single_from).map(|from| from.email.as_str());
        let checked = async {
            let spf = self.spf(origin).await;
            let (sender, author) =
                (Sender { spf, domain: domain_of(origin).to_owned() }, author.map(str::to_owned));
            if raw.len() < LARGE {
                return self.check(sender, author.as_deref(), raw).await;
            }
            let (this, raw) = (Self { resolver: self.resolver.clone(), name: String::new() }, raw.clone());
            let runtime = tokio::runtime::Handle::current();
            let apart = tokio::task::spawn_blocking(move || {
                runtime.block_on(this.check(sender, author.as_deref(), &raw))
            });
            apart.await.unwrap_or_else(|_| unanswered())
        };
        tokio::time::timeout(PATIENCE, checked).await.unwrap_or_else(|_| unanswered())
    }

    async fn spf(&self, origin: &Origin<'_>) -> SpfOutput {
        let domain = domain_of(origin);
        let Some(address) = origin.address else { return SpfOutput::new(domain.to_owned()) };
        let address = address.to_canonical();
        let asked = match origin.mail_from {
            "" => SpfParameters::verify_ehlo(address, origin.helo, &self.name),
            sender => SpfParameters::verify_mail_from(address, origin.helo, &self.name, sender),
        };
        self.resolver.verify_spf(Parameters::new(asked)).await
    }

    async fn check(&self, sender: Sender, author: Option<&str>, raw: &[u8]) -> Verdict {
        // The parser is ours to protect: too many signatures are not looked at, one by one or at all.
        let readable = signatures(raw) <= MOST_SIGNATURES;
        let parsed = readable.then(|| AuthenticatedMessage::parse(raw)).flatten();
        let mail = parsed.unwrap_or_default();
        let dkim = self.resolver.verify_dkim(Parameters::new(&mail)).await;
        let arc = self.resolver.verify_arc(Parameters::new(&mail)).await;
        let signed: Vec<String> = passed(&dkim)
            .filter_map(|output| output.signature())
            .map(|signature| signature.d.clone())
            .collect();
        let (best, arc) = (if readable { best(&dkim) } else { Check::PermError }, of_dkim(arc.result()));
        // Two readers of one header may disagree; then nobody vouches for anybody.
        let agreed = match (author, mail.from.as_slice()) {
            (Some(ours), [theirs]) => ours.eq_ignore_ascii_case(theirs),
            (Some(_), []) => !readable,
            _ => false,
        };
        let dmarc = match author.filter(|_| agreed) {
            None => Check::None,
            Some(author) if mail.from.is_empty() => {
                let unread = AuthenticatedMessage { from: vec![author.to_owned()], ..Default::default() };
                self.dmarc(&unread, &[], &sender).await
            }
            Some(_) => self.dmarc(&mail, &dkim, &sender).await,
        };
        Verdict {
            spf: of_spf(sender.spf.result()),
            spf_domain: Some(sender.domain).filter(|domain| !domain.is_empty()),
            dkim: best,
            dkim_domains: signed,
            dmarc,
            arc,
            null_sender: false,
        }
    }

    async fn dmarc(
        &self,
        mail: &AuthenticatedMessage<'_>,
        dkim: &[DkimOutput<'_>],
        sender: &Sender,
    ) -> Check {
        let asked = DmarcParameters::new(mail, dkim, &sender.domain, &sender.spf);
        match self.resolver.verify_dmarc(Parameters::new(asked)).await.result() {
            DmarcResult::Pass => Check::Pass,
            DmarcResult::Fail(_) => Check::Fail,
            DmarcResult::TempError(_) => Check::TempError,
            DmarcResult::PermError(_) => Check::PermError,
            DmarcResult::None => Check::None,
        }
    }
}

/// Who handed the mail over, and what SPF says to that.
struct Sender {
    spf: SpfOutput,
    domain: String,
}

fn domain_of<'a>(origin: &Origin<'a>) -> &'a str {
    origin.mail_from.rsplit_once('@').map_or(origin.helo, |(_, domain)| domain)
}

/// Nothing could be found out in time.
fn unanswered() -> Verdict {
    let unknown = Check::TempError;
    Verdict { spf: unknown, dkim: unknown, dmarc: unknown, ..Verdict::default() }
}

fn signatures(raw: &[u8]) -> usize {
    let header = raw.split(|b| *b == b'\n').take_while(|line| !line.trim_ascii_end().is_empty());
    let is_signature = |line: &&[u8]| {
        let named =
            |name: &[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        named(b"dkim-signature") || named(b"dkim2-signature") || named(b"arc-message-signature")
    };
    header.filter(is_signature).count()
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
