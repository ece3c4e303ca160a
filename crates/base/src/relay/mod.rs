//! Sends mail to a relay over SMTP: `smtps://user:password@host`, or `smtp://…?tls=required|opportunistic|none`.
//! The requirements of its host name (DANE, MTA-STS) apply whatever `tls=` says.
//!
//! Connections are reused, but only after a mail was accepted: after anything else a late reply might still arrive
//! and be taken for the reply to the next mail.

mod dane;
pub mod kept_here;
pub mod logged;
pub mod mailer;
mod mta_sts;
pub mod next_hop;
mod smtp_connect;

use std::error::Error as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::BoxFuture;
use lettre::Address;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use lettre::transport::smtp::response::{Code, Severity};
use percent_encoding::percent_decode_str;
use rustls::RootCertStore;
use tokio::time::Instant;
use url::{Host, Url};

use crate::error::{Error, Result};
use crate::net::outside::{self, Outside};
use crate::relay::mailer::{FinalMail, Handover, Mailer, OutgoingLetter, Refusal};
use crate::relay::next_hop::{Demand, NextHop};
use crate::relay::smtp_connect::{Closed, Encrypts, SmtpTarget};
use crate::secrets::secret::Secret;

/// Idle connections older than this may have been dropped by the relay.
const IDLE: Duration = Duration::from_secs(30);
/// Mails per connection, below what relays allow.
const MAILS_EACH: u32 = 50;
/// Connections that are kept.
const KEPT: usize = 12;
/// How long a try may take.
const TRY: Duration = Duration::from_secs(10);
const MECHANISMS: [Mechanism; 2] = [Mechanism::Plain, Mechanism::Login];

pub struct Relay {
    host: String,
    port: u16,
    security: Security,
    roots: Arc<RootCertStore>,
    next_hop: Option<NextHop>,
    credentials: Option<Credentials>,
    hello: ClientId,
    /// Deadline for one mail.
    patience: Duration,
    idle: Mutex<Vec<Open>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    /// TLS from the first byte.
    Wrapped,
    Required,
    Opportunistic,
    Off,
}

impl Security {
    fn encrypts(self) -> Encrypts {
        match self {
            Self::Wrapped | Self::Required => Encrypts::Must,
            Self::Opportunistic => Encrypts::May,
            Self::Off => Encrypts::Never,
        }
    }
}

struct Open {
    connection: AsyncSmtpConnection,
    mails: u32,
    since: Instant,
}

/// Why the relay takes no mail from us now, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shut {
    Unreached(String),
    /// It does not take our user name and password.
    NotLetIn(String),
}

/// The stage at which a mail failed. Only a reply to this mail's own commands can refuse it permanently.
enum RelayFailure {
    Opening(Closed),
    Connecting(SmtpError),
    SigningIn(SmtpError),
    Sender(SmtpError),
    Recipient(SmtpError),
    Content(SmtpError),
    /// A reply code that is not valid at this point.
    Senseless,
    /// The address needs SMTPUTF8, which the relay does not support.
    NotWithThisRelay,
}

impl Relay {
    pub fn new(address: &Secret, name: String, trust_ca: Option<&Path>, handover: TimeDelta) -> Result<Self> {
        let wrong = |what: &str| {
            Error::internal(format!(
                "ROOKERY_RELAY {what}. It looks like smtps://user:password@relay.example or \
                 smtp://relay.example:587?tls=required."
            ))
        };
        let url = Url::parse(&address.0).map_err(|_| wrong("is no address"))?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("names no host"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let wanted = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
        let (security, port) = match (url.scheme(), wanted.as_deref()) {
            ("smtps", None) => (Security::Wrapped, 465),
            ("smtp", None | Some("required")) => (Security::Required, 587),
            ("smtp", Some("opportunistic")) => (Security::Opportunistic, 587),
            ("smtp", Some("none")) => (Security::Off, 587),
            ("smtp" | "smtps", _) => return Err(wrong("has an unknown tls=")),
            _ => return Err(wrong("is not smtp: or smtps:")),
        };
        let in_clear = match security {
            Security::Wrapped | Security::Required => false,
            // An attacker on the way can remove STARTTLS from the relay's reply.
            Security::Opportunistic => true,
            Security::Off => !is_this_machine(&host),
        };
        if url.password().is_some() && in_clear {
            return Err(wrong(
                "would say its password in clear. Leave tls= out or write tls=required, which encrypts first",
            ));
        }
        let roots = Arc::new(outside::roots(trust_ca)?);
        let word = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let credentials =
            url.password().map(|password| Credentials::new(word(url.username()), word(password)));
        // Shorter than the handover deadline, so that the log can tell which side was slow.
        let patience = (handover * 3 / 4).to_std().map_err(Error::internal)?;
        let port = url.port().unwrap_or(port);
        let hello = ClientId::Domain(name);
        let (next_hop, idle) = (None, Mutex::default());
        Ok(Self { host, port, security, roots, next_hop, credentials, hello, patience, idle })
    }

    /// Adds the requirements of the relay's host name.
    pub fn with_tls_policy(
        self,
        dns: &[SocketAddr],
        outside: Arc<Outside>,
        policy_port: u16,
    ) -> Result<Self> {
        let next_hop = NextHop::new(&self.host, self.port, dns, outside, policy_port)?;
        Ok(Self { next_hop, ..self })
    }

    /// To all recipients or to none: a mail that one of them is refused goes to nobody.
    async fn deliver(
        &self,
        from: Address,
        to: Vec<Address>,
        raw: &[u8],
    ) -> std::result::Result<(), RelayFailure> {
        let mut open = self.connection().await?;
        let connection = &mut open.connection;
        let mut parameters = Vec::new();
        if !std::iter::once(&from).chain(&to).all(|address| address.to_string().is_ascii()) {
            if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(RelayFailure::NotWithThisRelay);
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !raw.is_ascii() && connection.server_info().supports_feature(Extension::EightBitMime) {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        connection.command(MailFrom::new(Some(from), parameters)).await.map_err(RelayFailure::Sender)?;
        for recipient in to {
            connection.command(Rcpt::new(recipient, Vec::new())).await.map_err(RelayFailure::Recipient)?;
        }
        if !connection.command(Data).await.map_err(RelayFailure::Content)?.has_code(354) {
            return Err(RelayFailure::Senseless);
        }
        // The library adds the final line end.
        let raw = raw.strip_suffix(b"\r\n").unwrap_or(raw);
        let answer = connection.message(raw).await.map_err(RelayFailure::Content)?;
        if answer.code().severity != Severity::PositiveCompletion {
            return Err(RelayFailure::Senseless);
        }
        self.keep(open);
        Ok(())
    }

    /// An idle connection that still works, or a new one.
    async fn connection(&self) -> std::result::Result<Open, RelayFailure> {
        while let Some(mut open) = self.take() {
            let works = tokio::time::timeout(self.patience / 4, open.connection.test_connected());
            if open.since.elapsed() < IDLE && works.await.unwrap_or(false) {
                return Ok(open);
            }
        }
        let demand = match &self.next_hop {
            Some(next_hop) => next_hop.demand().await.map_err(|error| {
                tracing::warn!(%error, host = self.host, "the TLS requirements of the relay's name cannot be looked up now");
                RelayFailure::Opening(Closed::NotKnown)
            })?,
            None => Demand::Nothing,
        };
        let wrapped = self.security == Security::Wrapped;
        let (encrypts, records) = match demand {
            Demand::Foreign => return Err(RelayFailure::Opening(Closed::Foreign)),
            Demand::Dane(records) => (Encrypts::Must, Some(records)),
            Demand::Valid => (Encrypts::Must, None),
            Demand::Nothing => (self.security.encrypts(), None),
        };
        let addresses = match &self.next_hop {
            Some(next_hop) => next_hop.addresses().await,
            None => Vec::new(),
        };
        let line = SmtpTarget {
            host: &self.host,
            port: self.port,
            addresses: &addresses,
            hello: &self.hello,
            roots: &self.roots,
        };
        let stream = line.open(wrapped, encrypts, records).await.map_err(RelayFailure::Opening)?;
        let connecting = AsyncSmtpConnection::connect_with_transport(stream, &self.hello);
        let mut connection = connecting.await.map_err(RelayFailure::Connecting)?;
        if let Some(credentials) = &self.credentials {
            connection.auth(&MECHANISMS, credentials).await.map_err(RelayFailure::SigningIn)?;
        }
        Ok(Open { connection, mails: 0, since: Instant::now() })
    }

    /// Connects and signs in as for a mail, and hands none over.
    pub async fn try_it(&self) -> std::result::Result<(), Shut> {
        let failure = match tokio::time::timeout(TRY, self.connection()).await {
            Ok(Ok(mut open)) => {
                let _ = tokio::time::timeout(TRY, open.connection.quit()).await;
                return Ok(());
            }
            Ok(Err(failure)) => failure,
            Err(_) => return Err(Shut::Unreached("it does not answer in time".to_owned())),
        };
        let (_, why) = failure.stage_and_reason();
        match failure {
            RelayFailure::SigningIn(_) => Err(Shut::NotLetIn(why)),
            _ => Err(Shut::Unreached(why)),
        }
    }

    /// Whether mail goes there encrypted, or does not leave this machine.
    pub fn keeps_secrets(&self) -> bool {
        self.security.encrypts() == Encrypts::Must || is_this_machine(&self.host)
    }

    fn take(&self) -> Option<Open> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn keep(&self, open: Open) {
        let mails = open.mails + 1;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if mails < MAILS_EACH && idle.len() < KEPT {
            idle.push(Open { mails, since: Instant::now(), ..open });
        }
    }
}

impl Mailer for Relay {
    fn hand_over<'a>(
        &'a self,
        letter: &'a OutgoingLetter,
        mail: &'a FinalMail,
    ) -> BoxFuture<'a, Result<Handover>> {
        Box::pin(async move {
            let to = std::iter::once(&mail.to).chain(&mail.copies_to);
            let to: std::result::Result<Vec<Address>, _> = to.map(|address| address.parse()).collect();
            let (Ok(from), Ok(to)) = (mail.return_path.parse::<Address>(), to) else {
                return Ok(Handover::Refused(Refusal::Rejected));
            };
            let (workspace, message_id) = (letter.workspace, letter.message);
            match tokio::time::timeout(self.patience, self.deliver(from, to, &mail.raw)).await {
                Ok(Ok(())) => Ok(Handover::Accepted),
                Ok(Err(failure)) => {
                    let outcome = outcome(&failure);
                    let (stage, why) = failure.stage_and_reason();
                    tracing::warn!(%workspace, %message_id, stage, why, ?outcome, "the relay did not take a mail");
                    Ok(outcome)
                }
                Err(_) => {
                    tracing::warn!(%workspace, %message_id, "the relay did not answer in time");
                    Ok(Handover::Later)
                }
            }
        })
    }
}

impl RelayFailure {
    /// Stage and reason for the log. Only the code of a reply, because its text may contain addresses.
    fn stage_and_reason(&self) -> (&'static str, String) {
        let (stage, error) = match self {
            Self::Opening(closed) => return ("connection", closed.to_string()),
            Self::Connecting(error) => ("connection", error),
            Self::SigningIn(error) => ("sign-in", error),
            Self::Sender(error) => ("sender", error),
            Self::Recipient(error) => ("recipient", error),
            Self::Content(error) => ("content", error),
            Self::Senseless => return ("content", "an unexpected reply".into()),
            Self::NotWithThisRelay => return ("sender", "the relay has no SMTPUTF8".into()),
        };
        let why = match error.status() {
            Some(code) => code.to_string(),
            None if error.is_client() => error.source().map(ToString::to_string).unwrap_or_default(),
            None => "network".into(),
        };
        (stage, why)
    }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// 4xx and connection errors are temporary. 5xx is permanent, unless it is about us and not about the mail.
fn outcome(failure: &RelayFailure) -> Handover {
    let permanent =
        |error: &SmtpError| error.is_permanent() && !error.status().is_some_and(asks_for_a_password);
    match failure {
        RelayFailure::NotWithThisRelay => Handover::Refused(Refusal::Rejected),
        RelayFailure::Sender(error) if permanent(error) => Handover::Refused(Refusal::Rejected),
        RelayFailure::Recipient(error) | RelayFailure::Content(error) if permanent(error) => {
            let refusal = if names_nobody(error) { Refusal::NoSuchAddress } else { Refusal::Rejected };
            Handover::Refused(refusal)
        }
        _ => Handover::Later,
    }
}

/// 530, 534, 535 and 538 mean that our credentials are wrong; the mail itself is fine.
fn asks_for_a_password(code: Code) -> bool {
    matches!(u16::from(code), 530 | 534 | 535 | 538)
}

/// 5.1.x says that there is no such address (RFC 3463), but for 5.1.7 and 5.1.8, which are about the sender.
fn names_nobody(error: &SmtpError) -> bool {
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    let status = said.split_whitespace().next().unwrap_or_default();
    status.starts_with("5.1.") && !matches!(status, "5.1.7" | "5.1.8")
}

/// The relay's host for an SPF record.
pub fn host(address: &Secret) -> Option<Host<String>> {
    let url = Url::parse(&address.0).ok()?;
    Host::parse(url.host_str()?).ok()
}
