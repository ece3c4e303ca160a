//! HTTP client for hosts that customers choose. The name is resolved and every address checked before each
//! request, and the connection goes to a checked address, never to a name: that prevents SSRF by DNS rebinding.
//!
//! No proxy, no redirects, one deadline for the whole request. Connections are kept for a few seconds, because the
//! next request often follows at once.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::LookupIpStrategy;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderValue, LOCATION};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout_at;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::error::{Error, Result};
use crate::net::dns;
use crate::net::ip_ranges::is_global;

/// Shorter than servers commonly keep an idle connection, so that few are found closed.
const IDLE: Duration = Duration::from_secs(4);
const MOST_IDLE: usize = 64;
/// How long one address may take to connect while there is another to try.
const ONE_ADDRESS: Duration = Duration::from_secs(3);
const MOST_HEAD_BYTES: usize = 64 << 10;
/// Longest URL that a customer may enter.
const LONGEST_URL: usize = 2048;
/// An answer's body is read up to here, so that the connection can be used again.
const MOST_BODY_BYTES: usize = 64 << 10;

pub struct Outside {
    resolver: Option<TokioResolver>,
    tls: TlsConnector,
    /// Networks the operator opened, for development.
    allow: Vec<IpNet>,
    time: Duration,
    idle: Mutex<HashMap<PoolKey, Vec<Idle>>>,
}

type PoolKey = (Arc<str>, u16, bool);
type RequestSender = SendRequest<Full<Bytes>>;
/// An answer whose body is still to come, and its connection.
struct Head {
    response: Response<Incoming>,
    sender: RequestSender,
    address: SocketAddr,
}

struct Idle {
    address: SocketAddr,
    sender: RequestSender,
    since: Instant,
}

/// A target whose addresses were just checked.
#[derive(Clone, Debug)]
pub struct CheckedTarget {
    addresses: Vec<SocketAddr>,
    host: Arc<str>,
    port: u16,
    secure: bool,
    authority: HeaderValue,
}

#[derive(Debug)]
pub struct OutsideAnswer {
    pub status: u16,
    /// The first bytes of the body, as many as were asked for.
    pub body: Vec<u8>,
    /// It was read to its end, neither cut off nor too long.
    pub whole: bool,
    /// Where a redirect leads. It is never followed here.
    pub location: Option<String>,
}

/// Why there is no response. The texts appear in delivery logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutsideFailure {
    #[error("address refused")]
    Refused,
    #[error("name not found")]
    NoSuchName,
    #[error("connection failed")]
    NoConnection,
    #[error("TLS failed")]
    Tls,
    #[error("connection closed")]
    Closed,
    #[error("timeout")]
    TooSlow,
    /// Something of ours.
    #[error("internal error")]
    Internal,
}

impl Outside {
    /// `servers` are the name servers to ask; the operating system's when there are none.
    pub fn new(
        allow: Vec<IpNet>,
        servers: &[SocketAddr],
        trust_ca: Option<&Path>,
        time: Duration,
    ) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?
            .with_root_certificates(roots(trust_ca)?)
            .with_no_client_auth();
        let resolver = resolver(servers);
        if let Err(error) = &resolver {
            tracing::warn!(%error, "host names cannot be resolved");
        }
        Ok(Self {
            resolver: resolver.ok(),
            tls: TlsConnector::from(Arc::new(tls)),
            allow,
            time,
            idle: Mutex::default(),
        })
    }

    /// Checks a URL that a customer entered: public and https, or in a network that the operator allowed.
    pub async fn a_public_address(&self, field: &str, text: &str) -> Result<Url> {
        let problem = |what: &str| Error::problem(field, what);
        if text.chars().count() > LONGEST_URL {
            return Err(problem("must be at most 2048 characters"));
        }
        let url: Url = text.trim().parse().map_err(|_| problem("must be an https address"))?;
        if url.scheme() != "https" && (url.scheme() != "http" || self.allow.is_empty()) {
            return Err(problem("must be an https address"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(problem("must not hold a user name or password"));
        }
        if url.fragment().is_some() {
            return Err(problem("must not have a fragment"));
        }
        if url.as_str().chars().count() > LONGEST_URL {
            return Err(problem("must be at most 2048 characters"));
        }
        self.check(&url).await.map_err(|failure| match failure {
            OutsideFailure::Refused => problem("must lead to a public address, by https"),
            _ => problem("must have a name that can be found"),
        })?;
        Ok(url)
    }

    /// Resolves the host and checks every address: a single one that is not global refuses them all.
    pub async fn check(&self, url: &Url) -> Result<CheckedTarget, OutsideFailure> {
        let secure = url.scheme() == "https";
        let port = url.port_or_known_default().ok_or(OutsideFailure::Refused)?;
        let (host, found) = match url.host().ok_or(OutsideFailure::Refused)? {
            Host::Ipv4(address) => (address.to_string(), vec![IpAddr::V4(address)]),
            Host::Ipv6(address) => (address.to_string(), vec![IpAddr::V6(address)]),
            Host::Domain(name) => (name.to_owned(), self.look_up(name).await?),
        };
        let inside = found.iter().all(|address| self.allow.iter().any(|net| net.contains(address)));
        let outside = found.iter().all(|address| is_global(*address)) && secure && !is_local_name(&host);
        if !inside && !outside {
            return Err(OutsideFailure::Refused);
        }
        let authority = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        Ok(CheckedTarget {
            addresses: found.into_iter().map(|address| SocketAddr::new(address, port)).collect(),
            host: host.into(),
            port,
            secure,
            authority: HeaderValue::from_str(&authority).map_err(|_| OutsideFailure::Refused)?,
        })
    }

    /// Whether it can be connected to, up to the first request: name, address, TLS.
    pub async fn reach(&self, url: &Url) -> Result<(), OutsideFailure> {
        let to = self.check(url).await?;
        let connected = tokio::time::timeout(self.time, self.connect(&to)).await;
        connected.map_err(|_| OutsideFailure::TooSlow)?.map(drop)
    }

    /// Sends a request whose URI is path and query. `keep` is how much of the answer's body is wanted.
    pub async fn send(
        &self,
        to: &CheckedTarget,
        mut request: Request<Full<Bytes>>,
        keep: usize,
    ) -> Result<OutsideAnswer, OutsideFailure> {
        let deadline = tokio::time::Instant::now() + self.time;
        request.headers_mut().insert(HOST, to.authority.clone());
        let head =
            timeout_at(deadline, self.head(to, request)).await.map_err(|_| OutsideFailure::TooSlow)??;
        let (answer, sender, address) = self.rest(head, keep, deadline).await;
        if answer.whole {
            self.put_back(to, Idle { address, sender, since: Instant::now() });
        }
        Ok(answer)
    }

    /// The same for a request that must not come twice: on a connection of its own, because one that was kept may be closed
    /// before or after the request was read, and nobody knows which.
    pub async fn send_once(
        &self,
        to: &CheckedTarget,
        mut request: Request<Full<Bytes>>,
        keep: usize,
    ) -> Result<OutsideAnswer, OutsideFailure> {
        let deadline = tokio::time::Instant::now() + self.time;
        request.headers_mut().insert(HOST, to.authority.clone());
        // Connecting has a time of its own: whoever was not reached was not asked.
        let connecting = tokio::time::timeout(self.time / 2, self.connect(to));
        let (mut sender, address) = connecting.await.map_err(|_| OutsideFailure::NoConnection)??;
        let asking = timeout_at(deadline, sender.send_request(request));
        let response =
            asking.await.map_err(|_| OutsideFailure::TooSlow)?.map_err(|_| OutsideFailure::Closed)?;
        Ok(self.rest(Head { response, sender, address }, keep, deadline).await.0)
    }

    async fn rest(
        &self,
        head: Head,
        keep: usize,
        deadline: tokio::time::Instant,
    ) -> (OutsideAnswer, RequestSender, SocketAddr) {
        let Head { response, sender, address } = head;
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        let read = timeout_at(deadline, read(response.into_body(), &mut body, keep)).await;
        let whole = read == Ok(BodyIsWhole::Yes);
        (OutsideAnswer { status, body, whole, location }, sender, address)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, OutsideFailure> {
        let resolver = self.resolver.as_ref().ok_or(OutsideFailure::NoSuchName)?;
        let looked_up = tokio::time::timeout(self.time, resolver.lookup_ip(name)).await;
        let found =
            looked_up.map_err(|_| OutsideFailure::TooSlow)?.map_err(|_| OutsideFailure::NoSuchName)?;
        let mut found: Vec<IpAddr> = found.iter().collect();
        if found.is_empty() {
            return Err(OutsideFailure::NoSuchName);
        }
        // IPv4 first, so that a machine without IPv6 does not wait for timeouts.
        found.sort_by_key(IpAddr::is_ipv6);
        found.dedup();
        Ok(found)
    }

    async fn head(&self, to: &CheckedTarget, request: Request<Full<Bytes>>) -> Result<Head, OutsideFailure> {
        while let Some(mut idle) = self.take(to) {
            if idle.sender.ready().await.is_ok()
                && let Ok(response) = idle.sender.send_request(request.clone()).await
            {
                return Ok(Head { response, sender: idle.sender, address: idle.address });
            }
            // The kept connection was closed: send again on another. Every request sent here may be repeated.
        }
        self.head_of_new(to, request).await
    }

    async fn head_of_new(
        &self,
        to: &CheckedTarget,
        request: Request<Full<Bytes>>,
    ) -> Result<Head, OutsideFailure> {
        let (mut sender, address) = self.connect(to).await?;
        let response = sender.send_request(request).await.map_err(|_| OutsideFailure::Closed)?;
        Ok(Head { response, sender, address })
    }

    async fn connect(&self, to: &CheckedTarget) -> Result<(RequestSender, SocketAddr), OutsideFailure> {
        let (last, others) = to.addresses.split_last().ok_or(OutsideFailure::NoConnection)?;
        for address in others {
            if let Ok(Ok(stream)) = tokio::time::timeout(ONE_ADDRESS, TcpStream::connect(address)).await {
                return Ok((self.greet(to, stream).await?, *address));
            }
        }
        let stream = TcpStream::connect(last).await.map_err(|_| OutsideFailure::NoConnection)?;
        Ok((self.greet(to, stream).await?, *last))
    }

    async fn greet(&self, to: &CheckedTarget, stream: TcpStream) -> Result<RequestSender, OutsideFailure> {
        let _ = stream.set_nodelay(true);
        if !to.secure {
            return shake_hands(stream).await;
        }
        let name = ServerName::try_from(to.host.to_string()).map_err(|_| OutsideFailure::Tls)?;
        shake_hands(self.tls.connect(name, stream).await.map_err(|_| OutsideFailure::Tls)?).await
    }

    /// A kept connection to one of the checked addresses.
    fn take(&self, to: &CheckedTarget) -> Option<Idle> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(&(to.host.clone(), to.port, to.secure))?;
        while let Some(last) = kept.pop() {
            if last.since.elapsed() < IDLE && !last.sender.is_closed() && to.addresses.contains(&last.address)
            {
                return Some(last);
            }
        }
        None
    }

    fn put_back(&self, to: &CheckedTarget, back: Idle) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (to.host.clone(), to.port, to.secure);
        if !idle.contains_key(&place) {
            // Removes hosts whose connections have expired.
            idle.retain(|_, kept| kept.last().is_some_and(|last| last.since.elapsed() < IDLE));
        }
        let kept = idle.entry(place).or_default();
        if kept.len() < MOST_IDLE {
            kept.push(back);
        }
    }
}

/// The authorities browsers trust, and those of the operator.
pub fn roots(trust_ca: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = trust_ca {
        let unusable = |error: &dyn std::fmt::Display| {
            Error::internal(format!(
                "{} cannot be used ({error}). Check ROOKERY_TRUST_CA_FILE.",
                file.display()
            ))
        };
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))? {
            let certificate = certificate.map_err(|error| unusable(&error))?;
            roots.add(certificate).map_err(|error| unusable(&error))?;
        }
    }
    Ok(roots)
}

fn resolver(servers: &[SocketAddr]) -> Result<TokioResolver> {
    let (mut config, mut options) = dns::settings(servers)?;
    // No search list: a name must not be completed with the local domain.
    config.domain = None;
    config.search.clear();
    // Both families, because one bad address refuses the name. No cache here: the machine's own resolver has one.
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = 0;
    let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    builder.with_options(options).build().map_err(Error::internal)
}

/// Names that mean this machine or this network, whatever they resolve to.
fn is_local_name(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    let last = name.rsplit('.').next().unwrap_or_default();
    ["localhost", "local", "internal"].contains(&last)
}

async fn shake_hands<S>(stream: S) -> Result<RequestSender, OutsideFailure>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(MOST_HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| OutsideFailure::Closed)?;
    tokio::spawn(async move {
        // It ends when the sender is dropped or the other side closes.
        let _ = connection.await;
    });
    Ok(sender)
}

#[derive(PartialEq)]
enum BodyIsWhole {
    Yes,
    No,
}

/// Reads the body to its end; `No` if it is too long or breaks off.
async fn read(mut body: Incoming, kept: &mut Vec<u8>, keep: usize) -> BodyIsWhole {
    let mut total = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return BodyIsWhole::No };
        if let Some(data) = frame.data_ref() {
            total += data.len();
            let wanted = keep.saturating_sub(kept.len()).min(data.len());
            kept.extend_from_slice(&data[..wanted]);
        }
        if total > MOST_BODY_BYTES.max(keep) {
            return BodyIsWhole::No;
        }
    }
    BodyIsWhole::Yes
}
