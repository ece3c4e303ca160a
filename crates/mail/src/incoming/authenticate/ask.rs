//! The DNS lookups for one mail. They run before its body is read, so that a sender with slow name servers takes
//! neither a thread nor memory. Signatures, names and total time are limited; what was not answered by the
//! deadline is a `temperror`.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use mail_auth::common::parse::TxtRecordParser;
use mail_auth::common::resolver::UnwrapTxtRecord;
use mail_auth::common::verify::VerifySignature;
use mail_auth::dmarc::Policy;
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::spf::verify::SpfParameters;
use mail_auth::{
    AuthenticatedMessage, DnsError, MessageAuthenticator, Parameters, RecordSet, ResolverCache, SpfOutput,
    SpfResult, Txt,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use rookery_base::error::{Error, Result};
use rookery_base::net::dns;

/// Deadline of all lookups for one mail, so that a sender whose DNS does not answer cannot block.
const PATIENCE: Duration = Duration::from_secs(6);
/// With more signatures than this, none is verified.
const MOST_SIGNATURES: usize = 20;
/// Signatures that are verified, those of the author's domain first. Each can cost a lookup and a hash of the
/// body.
const LOOKED_AT: usize = 5;
/// Names in the `h=` list of a signature. Each is searched among all headers.
const MOST_NAMED: usize = 200;
/// Length of an ARC chain.
const MOST_ARC: usize = 10;
/// Names looked up for one mail, besides those of SPF, which has a limit of its own.
const MOST_NAMES: usize = 24;
/// Concurrent lookups for one mail.
const AT_ONCE: usize = 4;

const CACHED_RECORDS: u64 = 20_000;
/// Large mails hashed concurrently.
const HASHED_AT_ONCE: usize = 4;

/// What the client said about itself.
pub struct ClientIdentity<'a> {
    /// Unknown when a front server of ours delivered the mail and did not say.
    pub address: Option<IpAddr>,
    pub helo: &'a str,
    /// Empty for bounces.
    pub mail_from: &'a str,
}

pub struct Authenticator {
    pub(super) resolver: MessageAuthenticator,
    /// Our host name, for SPF macros.
    name: String,
    pub(super) hashing: Semaphore,
}

/// The header of a mail and the answers of DNS: everything needed to judge it.
pub struct MailEvidence<'a> {
    pub(super) mail: AuthenticatedMessage<'a>,
    pub(super) sender: SpfSender,
    pub(super) records: Records,
    /// There were too many signatures.
    pub(super) too_many: bool,
    pub(super) arc_too_long: bool,
    /// The DMARC policy that the author's domain inherits from a parent domain.
    pub(super) inherited: Option<Policy>,
}

/// The sending host's domain and its SPF result.
pub(super) struct SpfSender {
    pub spf: SpfOutput,
    pub domain: String,
}

/// All answers. It is used as a complete cache: a name that is missing here counts as unanswered and is not looked
/// up again.
#[derive(Default)]
pub(super) struct Records(HashMap<Box<str>, Txt>);

/// A cache that says that every name exists.
pub(super) struct Exists;

enum RecordName {
    Key(String),
    Dmarc(String),
}

impl Authenticator {
    /// Asks the given name servers, or those of the operating system.
    pub fn new(servers: &[SocketAddr], name: &str) -> Result<Self> {
        let (config, mut options) = dns::settings(servers)?;
        options.cache_size = CACHED_RECORDS;
        options.timeout = Duration::from_secs(2);
        options.attempts = 2;
        let resolver = MessageAuthenticator::new(config, options).map_err(|error| {
            // It wants to know whom a name server with a certificate could be trusted by, also when none has one.
            Error::internal(format!(
                "senders of mail cannot be looked up: {error}. Are the system's public certificates there (package ca-certificates)?"
            ))
        })?;
        Ok(Self { resolver, name: name.to_owned(), hashing: Semaphore::new(HASHED_AT_ONCE) })
    }

    /// Parses the header and does its lookups. Takes at most a few seconds, and never fails.
    pub async fn ask<'a>(&self, origin: &ClientIdentity<'_>, header: &'a [u8]) -> MailEvidence<'a> {
        let mut mail = AuthenticatedMessage::parse(header).unwrap_or_default();
        let author = match mail.from.as_slice() {
            [one] => {
                one.rsplit_once('@').map(|(_, domain)| mail_auth::common::to_a_label(domain).into_owned())
            }
            _ => None,
        };
        let too_many = choose_signatures(&mut mail, author.as_deref());
        let arc_too_long = mail.ams_headers.len() > MOST_ARC
            || mail.as_headers.len() > MOST_ARC
            || mail.ams_headers.iter().any(|signature| signature.header.h.len() > MOST_NAMED);
        if arc_too_long {
            (mail.ams_headers, mail.as_headers, mail.aar_headers) = Default::default();
        }
        let domain = domain_of(origin).to_owned();
        let deadline = Instant::now() + PATIENCE;
        let names = names(&mail, author.as_deref(), &domain);
        let spf = timeout_at(deadline, self.spf(origin));
        let (spf, records) = futures::join!(spf, self.records(names, deadline));
        let spf = spf.unwrap_or_else(|_| SpfOutput::new(domain.clone()).with_result(SpfResult::TempError));
        let inherited = match author.filter(|author| records.inherits(author)) {
            Some(_) => Some(self.inherited(&mail, &records, deadline).await),
            None => None,
        };
        MailEvidence { mail, sender: SpfSender { spf, domain }, records, too_many, arc_too_long, inherited }
    }

    async fn spf(&self, origin: &ClientIdentity<'_>) -> SpfOutput {
        let domain = domain_of(origin);
        let Some(address) = origin.address else { return SpfOutput::new(domain.to_owned()) };
        let address = address.to_canonical();
        let asked = match origin.mail_from {
            "" => SpfParameters::verify_ehlo(address, origin.helo, &self.name),
            sender => SpfParameters::verify_mail_from(address, origin.helo, &self.name, sender),
        };
        self.resolver.verify_spf(Parameters::new(asked)).await
    }

    async fn records(&self, names: Vec<RecordName>, deadline: Instant) -> Records {
        let asked = stream::iter(names).map(async |name| match name {
            RecordName::Key(name) => (self.text(&name, Txt::DomainKey, deadline).await, name),
            RecordName::Dmarc(name) => (self.text(&name, Txt::Dmarc, deadline).await, name),
        });
        let found = asked.buffer_unordered(AT_ONCE).map(|(text, name)| (name.into_boxed_str(), text));
        Records(found.collect().await)
    }

    async fn text<T: TxtRecordParser + Into<Txt> + UnwrapTxtRecord>(
        &self,
        name: &str,
        found: fn(Arc<T>) -> Txt,
        deadline: Instant,
    ) -> Txt {
        let nothing: Option<&Records> = None;
        match timeout_at(deadline, self.resolver.txt_lookup::<T>(name, nothing)).await {
            Ok(Ok(record)) => found(record),
            Ok(Err(error)) => Txt::Error(error),
            Err(_) => unanswered(),
        }
    }

    /// The policy of a domain without a DMARC record of its own: that of a parent domain, or the one for
    /// non-existent subdomains.
    async fn inherited(
        &self,
        mail: &AuthenticatedMessage<'_>,
        records: &Records,
        deadline: Instant,
    ) -> Policy {
        let nobody = SpfOutput::default();
        let author = AuthenticatedMessage { from: mail.from.clone(), ..Default::default() };
        let asked = Parameters::new(DmarcParameters::new(&author, &[], "", &nobody)).with_txt_cache(records);
        let found = timeout_at(deadline, self.resolver.verify_dmarc(asked)).await;
        found.map_or(Policy::Unspecified, |found| found.policy())
    }
}

/// Keeps a few signatures, those of the author's domain first. True when there were too many, and none is kept.
fn choose_signatures(mail: &mut AuthenticatedMessage<'_>, author: Option<&str>) -> bool {
    let all = mail.dkim_headers.len() + mail.dkim2_signatures.len() + mail.ams_headers.len();
    let overlong = |named: usize| named > MOST_NAMED;
    if all > MOST_SIGNATURES || mail.dkim_headers.iter().any(|header| overlong(header.header.h.len())) {
        mail.dkim_headers.clear();
        return true;
    }
    let related =
        |domain: &str| author.is_some_and(|author| is_below(domain, author) || is_below(author, domain));
    mail.dkim_headers.sort_by_key(|header| !related(&header.header.d));
    mail.dkim_headers.truncate(LOOKED_AT);
    for header in &mut mail.dkim_headers {
        // Failure reports and third-party signatures (ATPS) would cause lookups, and change nothing here.
        (header.header.r, header.header.atps) = (false, None);
    }
    false
}

fn is_below(domain: &str, other: &str) -> bool {
    let (domain, other) = (domain.as_bytes(), other.as_bytes());
    let Some(rest) = domain.len().checked_sub(other.len()) else { return false };
    domain[rest..].eq_ignore_ascii_case(other) && (rest == 0 || domain[rest - 1] == b'.')
}

/// All names to look up, the most important first.
fn names(mail: &AuthenticatedMessage<'_>, author: Option<&str>, envelope: &str) -> Vec<RecordName> {
    let signed = mail.dkim_headers.iter().map(|header| &header.header);
    let mut found = Vec::new();
    let mut add = |name: RecordName| {
        let (RecordName::Key(text) | RecordName::Dmarc(text)) = &name;
        let known = found.iter().any(|(RecordName::Key(other) | RecordName::Dmarc(other))| other == text);
        if !known && found.len() < MOST_NAMES {
            found.push(name);
        }
    };
    let key = |name: String| RecordName::Key(name.to_lowercase());
    if let Some(author) = author {
        walk(author).for_each(|name| add(RecordName::Dmarc(name)));
    }
    signed.clone().for_each(|signature| add(key(signature.domain_key())));
    // DMARC records tell whether another domain belongs to the author's organization.
    if let Some(author) = author {
        let others = signed.map(|signature| signature.d.as_str()).chain([envelope]);
        for other in others.map(mail_auth::common::to_a_label).filter(|other| are_kin(other, author)) {
            walk(&other).for_each(|name| add(RecordName::Dmarc(name)));
        }
    }
    mail.ams_headers.iter().rev().take(1).for_each(|header| add(key(header.header.domain_key())));
    mail.as_headers.iter().for_each(|header| add(key(header.header.domain_key())));
    found
}

/// The names of a DNS Tree Walk (RFC 9989, 4.10): at most eight, from the whole domain up to the last label.
fn walk(domain: &str) -> impl Iterator<Item = String> {
    let labels: Vec<&str> = domain.split('.').filter(|label| !label.is_empty()).collect();
    let total = labels.len();
    let above = (1..total.min(8)).rev();
    let lengths = std::iter::once(total).chain(above).filter(move |_| total >= 2);
    let names: Vec<String> =
        lengths.map(|length| format!("_dmarc.{}.", labels[total - length..].join("."))).collect();
    names.into_iter()
}

/// Whether two domains may have an organization in common: their last two labels are the same.
fn are_kin(one: &str, other: &str) -> bool {
    let same =
        one.rsplit('.').zip(other.rsplit('.')).take_while(|(one, other)| one.eq_ignore_ascii_case(other));
    one != other && same.take(2).count() == 2
}

fn unanswered() -> Txt {
    Txt::Error(mail_auth::Error::Dns(DnsError::Resolver("no answer in time".to_owned())))
}

impl Records {
    /// Whether the domain has no record of its own, but one above it has.
    fn inherits(&self, domain: &str) -> bool {
        let has = |name: &String| matches!(self.0.get(name.as_str()), Some(Txt::Dmarc(_)));
        let mut names = walk(domain);
        names.next().is_some_and(|own| !has(&own)) && names.any(|name| has(&name))
    }
}

impl ResolverCache<Box<str>, Txt> for Records {
    fn get<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Some(self.0.get(name).cloned().unwrap_or_else(unanswered))
    }

    fn remove<Q>(&self, _: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _: Box<str>, _: Txt, _: std::time::Instant) {}
}

impl ResolverCache<Box<str>, RecordSet<Ipv4Addr>> for Exists {
    fn get<Q>(&self, _: &Q) -> Option<RecordSet<Ipv4Addr>>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Some(RecordSet { rrset: Arc::new([]), dnssec_status: mail_auth::DnssecStatus::Indeterminate })
    }

    fn remove<Q>(&self, _: &Q) -> Option<RecordSet<Ipv4Addr>>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _: Box<str>, _: RecordSet<Ipv4Addr>, _: std::time::Instant) {}
}

fn domain_of<'a>(origin: &ClientIdentity<'a>) -> &'a str {
    origin.mail_from.rsplit_once('@').map_or(origin.helo, |(_, domain)| domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_the_whole_domain_and_then_at_most_seven_labels() {
        let names = |domain| walk(domain).collect::<Vec<_>>();
        assert_eq!(names("a.b.example"), ["_dmarc.a.b.example.", "_dmarc.b.example.", "_dmarc.example."]);
        assert_eq!(names("example"), [""; 0]);
        let long = names("a.b.c.d.e.f.g.h.i.example");
        assert_eq!(long.len(), 8);
        assert_eq!(long[..2], ["_dmarc.a.b.c.d.e.f.g.h.i.example.", "_dmarc.d.e.f.g.h.i.example."]);
    }

    fn signed(domains: &[&str], headers: &str) -> String {
        let signature = |domain: &&str| {
            format!(
                "DKIM-Signature: v=1; a=rsa-sha256; c=simple/simple; d={domain}; s=s1; h={headers}; bh=AAAA; b=AAAA\r\n"
            )
        };
        let signatures: String = domains.iter().map(signature).collect();
        format!("{signatures}From: anna@mail.customer.example\r\n\r\n")
    }

    fn chosen(mail: &str) -> (bool, Vec<String>) {
        let mut mail = AuthenticatedMessage::parse(mail.as_bytes()).unwrap();
        let too_many = choose_signatures(&mut mail, Some("mail.customer.example"));
        (too_many, mail.dkim_headers.iter().map(|header| header.header.d.clone()).collect())
    }

    #[test]
    fn the_authors_own_signatures_are_looked_at_before_others() {
        let domains = [
            "a.example",
            "b.example",
            "c.example",
            "d.example",
            "e.example",
            "Customer.example",
            "f.example",
        ];
        let (too_many, chosen) = chosen(&signed(&domains, "from"));
        assert!(!too_many);
        assert_eq!(chosen, ["customer.example", "a.example", "b.example", "c.example", "d.example"]);
    }

    #[test]
    fn signatures_that_cost_much_are_not_looked_at() {
        assert_eq!(chosen(&signed(&["a.example"; 21], "from")), (true, vec![]));
        assert_eq!(chosen(&signed(&["a.example"], &vec!["x"; 201].join(":"))), (true, vec![]));
    }

    #[test]
    fn one_mail_asks_for_few_names() {
        let domain = |n: usize| format!("a{n}.b.c.d.e.f.g.customer.example");
        let domains: Vec<String> = (0..20).map(domain).collect();
        let domains: Vec<&str> = domains.iter().map(String::as_str).collect();
        let raw = signed(&domains, "from");
        let mut mail = AuthenticatedMessage::parse(raw.as_bytes()).unwrap();
        choose_signatures(&mut mail, Some("mail.customer.example"));
        assert_eq!(mail.dkim_headers.len(), LOOKED_AT);
        assert!(names(&mail, Some("mail.customer.example"), "customer.example").len() <= MOST_NAMES);
    }
}
