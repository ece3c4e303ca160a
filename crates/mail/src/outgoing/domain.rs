//! A domain that a workspace sends from: its DKIM key, and the DNS records it needs (DKIM, SPF, DMARC, MX).
//! `check` looks them up and says what is missing.

pub mod check;
pub mod checked;

use std::net::IpAddr;

use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;
use url::Host;

use crate::outgoing::dkim;
use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::relay;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::domains::{self, Ownership, ownership};

/// Longest string of a TXT record; a longer text is split.
const LONGEST_STRING: usize = 255;
/// What the record that proves a domain is called on pages and in answers.
pub const OWNERSHIP: &str = "Ownership";

pub struct Domain {
    pub name: String,
    pub selector: String,
    pub public_key: String,
}

/// A DNS record.
#[derive(Debug, Serialize)]
pub struct DnsRecord {
    pub purpose: &'static str,
    pub name: String,
    pub r#type: &'static str,
    pub value: String,
    /// The record as a line of a zone file.
    pub zone: String,
}

/// Creates the domain's key. A domain that exists keeps its key.
pub async fn add(app: &App, workspace: WorkspaceId, by: &By, domain: &str) -> Result<Domain> {
    let name = a_domain(domain)?;
    if ownership(app, workspace, &name).await? == Ownership::Taken {
        let what =
            "belongs to another workspace of this server. If it is yours, ask your server administrator";
        return Err(Error::problem("domain", what));
    }
    let mut tx = app.begin(workspace).await?;
    if let Some(there) = find(&mut tx, workspace, &name).await? {
        return Ok(there);
    }
    let (private_key, public_key) =
        dkim::make_key(app.config.needs_secret_key()?, &app.random, workspace, &name)?;
    let selector = format!("rk{}", app.random.hex(8));
    let now = tx.now();
    sqlx::query!(
        "insert into sending_domains (workspace_id, domain, selector, private_key, public_key, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        workspace.0,
        name,
        selector,
        private_key,
        public_key,
        now
    )
    .execute(&mut *tx)
    .await?;
    let subject = Subject { id: &name, name: &name };
    audit::record(&mut tx, by, Did::DomainAdded, subject, json!({ "selector": selector })).await?;
    tx.commit().await?;
    Ok(Domain { name, selector, public_key })
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, name: &str) -> Result<Option<Domain>> {
    Ok(sqlx::query_as!(
        Domain,
        "select domain as name, selector, public_key from sending_domains where workspace_id = $1 and domain = $2",
        workspace.0,
        name
    )
    .fetch_optional(conn)
    .await?)
}

/// A domain in its DNS form: lower case, IDNA-encoded.
pub fn a_domain(text: &str) -> Result<String> {
    let text = text.trim().trim_end_matches('.');
    match Host::parse(text) {
        Ok(Host::Domain(domain)) if domain.contains('.') && domain.len() <= 253 => Ok(domain.to_lowercase()),
        _ => Err(Error::problem("domain", "must be a domain like acme.example")),
    }
}

impl Domain {
    /// The DNS records that the domain needs for this service and its relay.
    pub fn rows(&self, config: &Config) -> Vec<DnsRecord> {
        let Self { name, .. } = self;
        vec![
            text("DKIM", self.key_name(), self.key_text()),
            text("SPF", name.clone(), format!("v=spf1 {} ~all", sender(config))),
            text("DMARC", format!("_dmarc.{name}"), "v=DMARC1; p=none".into()),
            row("MX", name.clone(), "MX", format!("10 {}.", config.mail_name())),
        ]
    }

    /// The record by which the domain says that it is the workspace's.
    pub fn ownership_row(&self, app: &App, workspace: WorkspaceId) -> Result<DnsRecord> {
        let (name, value) = domains::record(app, workspace, &self.name)?;
        Ok(text(OWNERSHIP, name, value))
    }

    fn key_name(&self) -> String {
        format!("{}._domainkey.{}", self.selector, self.name)
    }

    /// Where the key stands when a DNS page adds the domain to a name that has it already.
    fn doubled_key_name(&self) -> String {
        format!("{}.{}", self.key_name(), self.name)
    }

    fn key_text(&self) -> String {
        format!("v=DKIM1; k=rsa; p={}", self.public_key)
    }
}

/// The SPF mechanism for the hosts that send our mail. A provider's own mechanism (`include:`) is not known here;
/// a relay on this machine sends from our own address.
fn sender(config: &Config) -> String {
    match config.relay.as_ref().and_then(relay::host) {
        Some(Host::Ipv4(address)) if !address.is_loopback() => format!("ip4:{address}"),
        Some(Host::Ipv6(address)) if !address.is_loopback() => format!("ip6:{address}"),
        Some(Host::Domain(host)) if host != "localhost" => format!("a:{host}"),
        _ => match config.mail_name().parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => format!("ip4:{address}"),
            Ok(IpAddr::V6(address)) => format!("ip6:{address}"),
            Err(_) => format!("a:{}", config.mail_name()),
        },
    }
}

fn text(purpose: &'static str, name: String, value: String) -> DnsRecord {
    let bytes: Vec<char> = value.chars().collect();
    let strings = bytes.chunks(LONGEST_STRING).map(|part| format!("\"{}\"", part.iter().collect::<String>()));
    let zone = format!("{name}. 3600 IN TXT {}", strings.collect::<Vec<_>>().join(" "));
    DnsRecord { purpose, name, r#type: "TXT", value, zone }
}

fn row(purpose: &'static str, name: String, r#type: &'static str, value: String) -> DnsRecord {
    let zone = format!("{name}. 3600 IN {} {value}", r#type);
    DnsRecord { purpose, name, r#type, value, zone }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(relay: Option<&str>) -> Config {
        let mut given =
            vec![("ROOKERY_DATABASE_URL", "x"), ("ROOKERY_PUBLIC_URL", "https://desk.acme.example")];
        given.extend(relay.map(|relay| ("ROOKERY_RELAY", relay)));
        let given = given.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        Config::load(None, given).unwrap()
    }

    #[test]
    fn the_rows_are_ready_to_be_put_into_a_zone() {
        let domain =
            Domain { name: "acme.example".into(), selector: "rk1".into(), public_key: "A".repeat(392) };
        let rows = domain.rows(&config(Some("smtps://u:p@relay.example")));
        let zone: Vec<&str> = rows.iter().map(|row| row.zone.as_str()).collect();
        assert_eq!(
            zone,
            [
                &format!(
                    "rk1._domainkey.acme.example. 3600 IN TXT \"v=DKIM1; k=rsa; p={}\" \"{}\"",
                    "A".repeat(237),
                    "A".repeat(155)
                ),
                "acme.example. 3600 IN TXT \"v=spf1 a:relay.example ~all\"",
                "_dmarc.acme.example. 3600 IN TXT \"v=DMARC1; p=none\"",
                "acme.example. 3600 IN MX 10 desk.acme.example.",
            ]
        );
    }

    #[test]
    fn spf_names_what_mail_comes_from() {
        for (relay, wanted) in [
            (None, "a:desk.acme.example"),
            (Some("smtp://127.0.0.1:25?tls=none"), "a:desk.acme.example"),
            (Some("smtp://localhost:25?tls=none"), "a:desk.acme.example"),
            (Some("smtp://192.0.2.7?tls=none"), "ip4:192.0.2.7"),
            (Some("smtp://[2001:db8::7]?tls=none"), "ip6:2001:db8::7"),
        ] {
            assert_eq!(sender(&config(relay)), wanted);
        }
    }

    #[test]
    fn a_domain_is_kept_as_dns_has_it() {
        assert_eq!(a_domain(" Acme.Example. ").unwrap(), "acme.example");
        assert_eq!(a_domain("bücher.example").unwrap(), "xn--bcher-kva.example");
        for wrong in ["", "localhost", "127.0.0.1", "a b.example", "help@acme.example", "a.example\r\nx"] {
            assert!(a_domain(wrong).is_err(), "{wrong}");
        }
    }
}
