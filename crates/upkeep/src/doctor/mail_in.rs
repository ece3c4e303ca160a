//! Mail that comes in: the doors, STARTTLS and its certificate, the name that other servers look up, and port 25 both ways.
//! No mail is sent; who is asked is ourselves, or the servers of our own domains.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use futures::future::select_ok;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;

use crate::doctor::certificate;
use crate::doctor::domains::WorkspaceDomain;
use crate::doctor::given::Given;
use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use crate::doctor::smtp::{SmtpGreeting, greet};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::net::dns::Dns;

const NO_DOOR: &str = "ROOKERY_SMTP_LISTEN is not set: no mail comes in by SMTP";

pub async fn inspect(
    app: &App,
    given: &Given,
    dns: Option<&Dns>,
    domains: &Result<Vec<WorkspaceDomain>>,
) -> Vec<CheckRow> {
    let mut rows = door(app, given).await;
    rows.extend(certificates(app));
    rows.push(lmtp(app, given).await);
    if let Some(dns) = dns {
        rows.extend(names(app, given, dns, domains.as_deref().unwrap_or_default()).await);
    }
    rows
}

async fn door(app: &App, given: &Given) -> Vec<CheckRow> {
    let (open, offers) = ("the SMTP door answers", "STARTTLS is offered");
    let Some(listen) = app.config.smtp_listen else {
        return vec![
            CheckRow::new("smtp", open, right(NO_DOOR)),
            CheckRow::new("smtp-starttls", offers, right(NO_DOOR)),
        ];
    };
    match greet(from_here(listen), "EHLO", &app.config.mail_name(), given.patience).await {
        Ok(SmtpGreeting { greeting, offers: words }) => vec![
            CheckRow::new("smtp", open, right(greeting)),
            CheckRow::new(
                "smtp-starttls",
                offers,
                either(
                    words.iter().any(|word| word == "STARTTLS"),
                    words.join(", "),
                    "Set `ROOKERY_TLS_CERTIFICATE` and `ROOKERY_TLS_KEY` and restart: without them mail comes in the clear.",
                ),
            ),
        ],
        Err(error) => vec![CheckRow::new(
            "smtp",
            open,
            wrong(
                error,
                "Is the service running? Its log says why a port cannot be listened on: `journalctl -u rookery`",
            ),
        )],
    }
}

async fn lmtp(app: &App, given: &Given) -> CheckRow {
    let judged = match app.config.lmtp_listen {
        None => right("not set"),
        Some(listen) => match greet(from_here(listen), "LHLO", &app.config.mail_name(), given.patience).await
        {
            Ok(heard) => right(heard.greeting),
            Err(error) => wrong(error, "Is the service running? `journalctl -u rookery`"),
        },
    };
    CheckRow::new("lmtp", "not set, or the LMTP door answers", judged)
}

fn certificates(app: &App) -> Vec<CheckRow> {
    let pair = "the key belongs to the certificate";
    let (Some(file), Some(key)) = (&app.config.tls_certificate, &app.config.tls_key) else {
        let none = || right("not set");
        return vec![
            CheckRow::new("smtp-key", pair, none()),
            CheckRow::new("smtp-certificate", lasting(), none()),
            CheckRow::new("smtp-certificate-name", "it is for the name of the mail server", none()),
        ];
    };
    let chain = match chain_of(file, key) {
        Ok(chain) => chain,
        Err(error) => {
            let fix = "Name a certificate and its own key, both as PEM and readable for the service's user.";
            return vec![CheckRow::new("smtp-key", pair, wrong(error.to_string(), fix))];
        }
    };
    let name = app.config.mail_name();
    vec![
        CheckRow::new("smtp-key", pair, right(format!("{} and {}", file.display(), key.display()))),
        CheckRow::from_result("smtp-certificate", lasting(), lasts(app, &chain)),
        CheckRow::from_result("smtp-certificate-name", format!("it is for {name}"), is_for(&chain, &name)),
    ]
}

fn lasting() -> String {
    format!("valid for {} days or more", certificate::LEAST_DAYS)
}

fn chain_of(file: &Path, key: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let unusable = |file: &Path, error: &dyn std::fmt::Display| {
        Error::internal(format!("{} cannot be used: {error}", file.display()))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(file, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    CertifiedKey::from_der(chain.clone(), secret, &provider).map_err(|error| unusable(key, &error))?;
    Ok(chain)
}

fn lasts(app: &App, chain: &[CertificateDer<'static>]) -> Result<RowJudgement> {
    let ends = chain.first().and_then(|first| certificate::ends(first));
    let ends = ends.ok_or_else(|| Error::internal("the certificate tells no end"))?;
    Ok(certificate::judge(
        ends,
        app.clock.now(),
        "Renew it; the service takes the new file by itself: `certbot renew`",
    ))
}

fn is_for(chain: &[CertificateDer<'static>], name: &str) -> Result<RowJudgement> {
    let first = chain.first().ok_or_else(|| Error::internal("the file has no certificate"))?;
    let parsed = ParsedCertificate::try_from(first).map_err(Error::internal)?;
    let wanted = ServerName::try_from(name.to_owned()).map_err(Error::internal)?;
    Ok(match verify_server_name(&parsed, &wanted) {
        Ok(()) => right("it is"),
        Err(error) => wrong(
            error.to_string(),
            format!("Get a certificate for {name}, or set `ROOKERY_MAIL_NAME` to a name it has."),
        ),
    })
}

async fn names(app: &App, given: &Given, dns: &Dns, domains: &[WorkspaceDomain]) -> Vec<CheckRow> {
    let name = app.config.mail_name();
    let (leads, back) = (format!("{name} has an address"), format!("its addresses lead back to {name}"));
    let reached = format!("{name} answers on port {}", given.mail_port);
    let mut rows = Vec::new();
    if app.config.smtp_listen.is_none() {
        rows.push(CheckRow::new("mail-name", leads, right(NO_DOOR)));
        rows.push(CheckRow::new("mail-pointer", back, right(NO_DOOR)));
        rows.push(CheckRow::new("port-25-in", reached, right(NO_DOOR)));
    } else {
        let addresses = dns.addresses(&name).await;
        let found = addresses.as_deref().unwrap_or_default().to_vec();
        let shown = found.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
        let fix = format!("Add an A row for {name}, or set `ROOKERY_MAIL_NAME` to a name that has one.");
        rows.push(CheckRow::from_result(
            "mail-name",
            leads,
            addresses.map(|found| if found.is_empty() { wrong("it has none", fix) } else { right(shown) }),
        ));
        if !found.is_empty() {
            rows.push(CheckRow::from_result("mail-pointer", back, pointers(dns, &name, &found).await));
            rows.push(CheckRow::new("port-25-in", reached, port_in(app, given, &found).await));
        }
    }
    let out = CheckRow::from_result(
        "port-25-out",
        "mail servers can be reached from here",
        port_out(app, given, dns, domains).await,
    );
    rows.push(out);
    rows
}

/// Receivers look at the name of the address that mail comes from.
async fn pointers(dns: &Dns, name: &str, addresses: &[IpAddr]) -> Result<RowJudgement> {
    let mut shown = Vec::new();
    for address in addresses.iter().filter(|address| !address.is_loopback()) {
        let names = dns.names_of(*address).await?;
        if !names.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            let found = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            return Ok(wrong(
                format!("{address} is called {found}"),
                format!("Ask who gave you the address to set its reverse DNS (PTR) to {name}."),
            ));
        }
        shown.push(format!("{address} is called {name}"));
    }
    Ok(right(if shown.is_empty() {
        "it has only addresses of this machine".to_owned()
    } else {
        shown.join(", ")
    }))
}

async fn port_in(app: &App, given: &Given, addresses: &[IpAddr]) -> RowJudgement {
    let name = app.config.mail_name();
    let tries = addresses.iter().map(|address| {
        let to = SocketAddr::new(*address, given.mail_port);
        Box::pin(greet(to, "EHLO", &name, given.patience))
    });
    match select_ok(tries).await {
        Ok((heard, _)) => right(heard.greeting),
        Err(error) => wrong(
            error,
            "Open port 25 in the firewall and lead it to `ROOKERY_SMTP_LISTEN`. Some hosts open it only when asked.",
        ),
    }
}

/// To the servers of our own domains, so that no stranger is asked.
async fn port_out(app: &App, given: &Given, dns: &Dns, domains: &[WorkspaceDomain]) -> Result<RowJudgement> {
    let Some(named) = domains.first() else { return Ok(right("no domain yet, so nobody to ask")) };
    let domain = &named.domain.name;
    let servers = dns.mail_servers(domain).await?;
    let Some(server) = servers.first() else {
        return Ok(right(format!("{domain} has no mail server to ask")));
    };
    let addresses = dns.addresses(server).await?;
    let hello = app.config.mail_name();
    let tries: Vec<_> = addresses
        .iter()
        .map(|address| {
            Box::pin(greet(SocketAddr::new(*address, given.mail_port), "EHLO", &hello, given.patience))
        })
        .collect();
    if tries.is_empty() {
        return Ok(right(format!("{server} has no address to ask")));
    }
    Ok(match select_ok(tries).await {
        Ok(_) => right(format!("{server} answers")),
        Err(error) => wrong(
            format!("{server}: {error}"),
            "Let connections to port 25 out. Where a host does not, a relay on port 465 or 587 carries mail all the same.",
        ),
    })
}

/// A door that is open to all addresses is asked at this machine's own.
fn from_here(listen: SocketAddr) -> SocketAddr {
    let address = match listen.ip() {
        IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        address => address,
    };
    SocketAddr::new(address, listen.port())
}
