//! Asks name servers: those of the settings, or the operating system's. "There is no such record" is an
//! answer; anything else that goes wrong is not.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{Resolver, TokioResolver};

use crate::error::{Error, Result};

pub struct Dns(TokioResolver);

impl Dns {
    pub fn new(servers: &[SocketAddr]) -> Result<Self> {
        let (config, mut options) = settings(servers)?;
        options.timeout = Duration::from_secs(3);
        options.attempts = 2;
        let builder = Resolver::builder_with_config(config, TokioRuntimeProvider::default());
        Ok(Self(builder.with_options(options).build().map_err(Error::internal)?))
    }

    /// The texts of a name, each put together from its strings.
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

/// How name servers are reached, for whoever has a resolver of its own.
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
