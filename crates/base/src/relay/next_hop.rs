//! The TLS requirements of the relay's host name: DANE (RFC 7672) and MTA-STS (RFC 8461). Either makes TLS
//! mandatory, whatever `tls=` says; DANE also says which certificate is accepted.
//!
//! DANE needs a validating name server on this machine, so that nobody can change its answers on the way. Without
//! one it is not used.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::error::Result;
use crate::net::dns::Tlsa;
use crate::net::dns::{self, Dns};
use crate::net::outside::Outside;
use crate::relay::mta_sts::{Mode, Policies, Policy};

/// The requirements for a connection, beyond the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    Nothing,
    /// TLS with a certificate that is valid for the name.
    Valid,
    /// TLS with a certificate that matches one of these.
    Dane(Vec<Tlsa>),
    /// Must not be used: the domain's policy does not list this server.
    Foreign,
}

pub struct NextHop {
    host: String,
    port: u16,
    dns: Dns,
    /// Whether name servers are configured.
    own_servers: bool,
    /// Name servers on this machine, whose DNSSEC validation is trusted.
    trusted: Vec<SocketAddr>,
    policies: Policies,
}

impl NextHop {
    /// `None` for an address or this machine, which have no requirements.
    pub fn new(
        host: &str,
        port: u16,
        servers: &[SocketAddr],
        outside: Arc<Outside>,
        policy_port: u16,
    ) -> Result<Option<Self>> {
        if host == "localhost" || host.parse::<IpAddr>().is_ok() || !host.contains('.') {
            return Ok(None);
        }
        let trusted = dns::on_this_machine(servers)?;
        if trusted.is_empty() {
            tracing::info!(host, "DANE is not used: the name servers are not on this machine");
        }
        let policies = Policies::new(outside, policy_port);
        let (host, dns, own_servers) = (host.to_ascii_lowercase(), Dns::new(servers)?, !servers.is_empty());
        Ok(Some(Self { host, port, dns, own_servers, trusted, policies }))
    }

    /// Its addresses by the configured name servers; empty when the operating system resolves it.
    pub async fn addresses(&self) -> Vec<SocketAddr> {
        let known = if self.own_servers {
            self.dns.addresses(&self.host).await.unwrap_or_default()
        } else {
            Vec::new()
        };
        known.into_iter().map(|address| SocketAddr::new(address, self.port)).collect()
    }

    /// On error the requirements are unknown, so nothing may be sent now.
    pub async fn demand(&self) -> Result<Demand> {
        if let Some(server) = self.trusted.first() {
            let name = format!("_{}._tcp.{}", self.port, self.host);
            let demand = by_dane(dns::authentic_tlsa(*server, &name).await?);
            if demand != Demand::Nothing {
                return Ok(demand);
            }
        }
        for domain in domains_of(&self.host) {
            let Some(policy) = self.policies.for_domain(domain, &self.dns).await else { continue };
            // If the MX lookup fails, the policy decides alone.
            let is_its_server = self.dns.mail_servers(domain).await.unwrap_or_default().contains(&self.host);
            let demand = by_policy(&policy, &self.host, is_its_server);
            if policy.mode == Mode::Testing && demand == Demand::Foreign {
                tracing::warn!(
                    domain,
                    host = self.host,
                    "MTA-STS, testing: the domain does not name this server"
                );
            } else if policy.mode == Mode::Enforce && demand != Demand::Nothing {
                return Ok(demand);
            }
        }
        Ok(Demand::Nothing)
    }
}

/// Unusable records still mean that the server has TLS.
fn by_dane(records: Vec<Tlsa>) -> Demand {
    if records.is_empty() {
        return Demand::Nothing;
    }
    let usable: Vec<Tlsa> = records.into_iter().filter(Tlsa::is_usable).collect();
    if usable.is_empty() { Demand::Valid } else { Demand::Dane(usable) }
}

/// A policy applies to the domain's MX servers, not to other servers such as submission.
fn by_policy(policy: &Policy, host: &str, is_its_server: bool) -> Demand {
    match (policy.mode, policy.names(host), is_its_server) {
        (Mode::None, ..) | (_, false, false) => Demand::Nothing,
        (_, true, _) => Demand::Valid,
        (_, false, true) => Demand::Foreign,
    }
}

/// The host itself and the domains it is in, down to two labels.
fn domains_of(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |name| name.split_once('.').map(|(_, domain)| domain))
        .take_while(|name| name.contains('.'))
        .take(5)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_policy_is_about_the_servers_of_its_domain() {
        let policy =
            |mode| Policy { mode, max_age: Duration::from_secs(1), mx: vec!["mx.acme.example".into()] };
        let enforce = policy(Mode::Enforce);
        assert_eq!(by_policy(&enforce, "mx.acme.example", true), Demand::Valid);
        assert_eq!(by_policy(&enforce, "mx.acme.example", false), Demand::Valid, "DNS may be held back");
        assert_eq!(by_policy(&enforce, "evil.acme.example", true), Demand::Foreign);
        assert_eq!(by_policy(&enforce, "smtp.acme.example", false), Demand::Nothing);
        assert_eq!(by_policy(&policy(Mode::None), "evil.acme.example", true), Demand::Nothing);
    }

    #[test]
    fn records_demand_encryption_even_when_none_can_be_used() {
        let record = |usage| Tlsa { usage, selector: 1, matching: 1, data: vec![0; 32] };
        assert_eq!(by_dane(Vec::new()), Demand::Nothing);
        assert_eq!(by_dane(vec![record(0), record(1), record(9)]), Demand::Valid);
        assert_eq!(by_dane(vec![record(1), record(3)]), Demand::Dane(vec![record(3)]));
    }

    #[test]
    fn a_host_is_in_its_parents() {
        let of = |host| domains_of(host).collect::<Vec<_>>();
        assert_eq!(of("mx.eu.acme.example"), ["mx.eu.acme.example", "eu.acme.example", "acme.example"]);
        assert_eq!(of("acme.example"), ["acme.example"]);
    }
}
