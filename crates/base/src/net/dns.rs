//! DNS lookups, with the name servers of the settings or of the operating system. "No such record" is an empty
//! answer; any other failure is an error.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::{Message, Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{Resolver, TokioResolver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::{Error, Result};

/// Timeout of one TLSA query.
const PATIENCE: Duration = Duration::from_secs(6);

pub struct Dns(TokioResolver);

impl Dns {
    pub fn new(servers: &[SocketAddr]) -> Result<Self> {
        let (config, mut options) = settings(servers)?;
        options.timeout = Duration::from_secs(3);
        options.attempts = 2;
        let builder = Resolver::builder_with_config(config, TokioRuntimeProvider::default());
        Ok(Self(builder.with_options(options).build().map_err(Error::internal)?))
    }

    /// The TXT records of a name, each with its strings joined.
    pub async fn texts(&self, name: &str) -> Result<Vec<String>> {
        let found = self.ask(name, RecordType::TXT).await?;
        let text = |data: &RData| match data {
            RData::TXT(text) => {
                Some(text.txt_data.iter().map(|part| String::from_utf8_lossy(part)).collect())
            }
            _ => None,
        };
        Ok(found.iter().filter_map(text).collect())
    }

    /// The servers that take mail for a domain, the preferred one first.
    pub async fn mail_servers(&self, domain: &str) -> Result<Vec<String>> {
        let found = self.ask(domain, RecordType::MX).await?;
        let server = |data: &RData| match data {
            RData::MX(mx) => {
                Some((mx.preference, mx.exchange.to_ascii().trim_end_matches('.').to_lowercase()))
            }
            _ => None,
        };
        let mut servers: Vec<(u16, String)> = found.iter().filter_map(server).collect();
        servers.sort();
        Ok(servers.into_iter().map(|(_, name)| name).collect())
    }

    /// The addresses of a name, IPv4 first.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>> {
        let mut found = self.ask(name, RecordType::A).await?;
        found.extend(self.ask(name, RecordType::AAAA).await.unwrap_or_default());
        let address = |data: &RData| match data {
            RData::A(address) => Some(IpAddr::V4(address.0)),
            RData::AAAA(address) => Some(IpAddr::V6(address.0)),
            _ => None,
        };
        Ok(found.iter().filter_map(address).collect())
    }

    /// The names that an address says it has.
    pub async fn names_of(&self, address: IpAddr) -> Result<Vec<String>> {
        let found = self.ask(&Name::from(address).to_ascii(), RecordType::PTR).await?;
        let name = |data: &RData| match data {
            RData::PTR(name) => Some(name.0.to_ascii().trim_end_matches('.').to_lowercase()),
            _ => None,
        };
        Ok(found.iter().filter_map(name).collect())
    }

    async fn ask(&self, name: &str, kind: RecordType) -> Result<Vec<RData>> {
        let mut name = Name::from_ascii(name).map_err(Error::internal)?;
        name.set_fqdn(true);
        match self.0.lookup(name, kind).await {
            Ok(found) => Ok(found.answers().iter().map(|record| record.data.clone()).collect()),
            Err(error) if error.is_no_records_found() => Ok(Vec::new()),
            Err(error) => Err(Error::internal(error)),
        }
    }
}

/// The name servers in use, if all of them are on this machine.
pub fn on_this_machine(servers: &[SocketAddr]) -> Result<Vec<SocketAddr>> {
    let (config, _) = settings(servers)?;
    let address = |server: &NameServerConfig| {
        let port = server.connections.first().map_or(53, |connection| connection.port);
        SocketAddr::new(server.ip, port)
    };
    let servers: Vec<SocketAddr> = config.name_servers().iter().map(address).collect();
    let all = servers.iter().all(|server| server.ip().is_loopback());
    Ok(if all { servers } else { Vec::new() })
}

/// A TLSA record: certificate usage, selector, matching type, and the data to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tlsa {
    pub usage: u8,
    pub selector: u8,
    pub matching: u8,
    pub data: Vec<u8>,
}

/// The TLSA records of a name that the server has validated with DNSSEC; empty when there are none or they are not
/// signed. A failed lookup or a failed validation is an error.
pub async fn authentic_tlsa(server: SocketAddr, name: &str) -> Result<Vec<Tlsa>> {
    let mut name = Name::from_ascii(name).map_err(Error::internal)?;
    name.set_fqdn(true);
    let mut question = Message::query();
    question.metadata.recursion_desired = true;
    // Sets the AD bit to ask whether the answer was validated (RFC 6840); the resolver above cannot do that.
    question.metadata.authentic_data = true;
    question.add_query(Query::query(name, RecordType::TLSA));
    let question = question.to_vec().map_err(Error::internal)?;
    let answer = tokio::time::timeout(PATIENCE, over_tcp(server, &question)).await;
    let answer = Message::from_vec(&answer.map_err(Error::internal)??).map_err(Error::internal)?;
    match answer.metadata.response_code {
        ResponseCode::NoError | ResponseCode::NXDomain => {}
        other => return Err(Error::internal(format!("the name server answers {other} for TLSA"))),
    }
    if !answer.metadata.authentic_data {
        return Ok(Vec::new());
    }
    let record = |record: &Record| match &record.data {
        RData::TLSA(tlsa) => Some(Tlsa {
            usage: tlsa.cert_usage.into(),
            selector: tlsa.selector.into(),
            matching: tlsa.matching.into(),
            data: tlsa.cert_data.clone(),
        }),
        _ => None,
    };
    Ok(answer.answers.iter().filter_map(record).collect())
}

/// Over TCP, because answers over UDP may be truncated.
async fn over_tcp(server: SocketAddr, question: &[u8]) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(question.len()).map_err(Error::internal)?;
    stream.write_all(&[&length.to_be_bytes(), question].concat()).await?;
    let mut answer = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

/// Resolver settings, for libraries that bring a resolver of their own.
pub fn settings(servers: &[SocketAddr]) -> Result<(ResolverConfig, ResolverOpts)> {
    if servers.is_empty() {
        return read_system_conf().map_err(|error| {
            Error::internal(format!("The system's name servers are not known ({error}). Set ROOKERY_DNS."))
        });
    }
    let servers = servers.iter().map(|address| {
        let mut server = NameServerConfig::udp_and_tcp(address.ip());
        server.connections.iter_mut().for_each(|connection| connection.port = address.port());
        server
    });
    Ok((ResolverConfig::from_name_servers(servers.collect()), ResolverOpts::default()))
}
