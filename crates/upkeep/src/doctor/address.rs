//! The public address, asked from outside the process as a browser would: whether it leads here, whether the proxy in
//! front passes the host on, and how long its certificate lasts.

use std::net::{IpAddr, SocketAddr};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use ipnet::IpNet;
use url::{Host, Url};

use crate::doctor::certificate;
use crate::doctor::given::Given;
use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::net::dns::Dns;
use rookery_base::net::outside::{self, Outside, OutsideAnswer};

/// Of an answer.
const MOST_BYTES: usize = 4096;

/// Whether names can be looked up at all. Most of what follows needs it.
pub async fn name_servers(app: &App, dns: &Result<Dns>) -> CheckRow {
    let host = app.config.public_url.host_str().unwrap_or_default().to_owned();
    let names = [host, app.config.mail_name()];
    let name = names.iter().find(|name| name.contains('.') && name.parse::<IpAddr>().is_err());
    let fix = "Name servers that answer, in `ROOKERY_DNS` or `/etc/resolv.conf`.";
    let judged = match (dns, name) {
        (Err(error), _) => wrong(error.to_string(), fix),
        (Ok(_), None) => right("there is no name to look up yet"),
        (Ok(dns), Some(name)) => match dns.texts(name).await {
            Ok(_) => right(format!("they answer for {name}")),
            Err(error) => wrong(format!("no answer for {name}: {error}"), fix),
        },
    };
    CheckRow::new("name-servers", "they answer", judged)
}

pub async fn inspect(app: &App, given: &Given, dns: Option<&Dns>) -> Vec<CheckRow> {
    let public = &app.config.public_url;
    let mut rows = vec![https(public)];
    let leads_here = CheckRow::from_result(
        "public-address",
        format!("{public} leads here"),
        alive(app, given, public).await,
    );
    let reached = leads_here.ok;
    rows.push(leads_here);
    if reached {
        let expected = "the proxy passes Host on as it came";
        rows.push(CheckRow::from_result("public-host", expected, host(app, given, public).await));
        let expected = format!("valid for {} days or more", certificate::LEAST_DAYS);
        rows.push(CheckRow::from_result(
            "public-certificate",
            expected,
            lasts(app, given, public, dns).await,
        ));
    }
    rows.push(CheckRow::from_result(
        "content-address",
        "not set, or an address that leads here",
        content(app, given).await,
    ));
    rows
}

fn https(public: &Url) -> CheckRow {
    let local = match public.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let judged = either(
        public.scheme() == "https" || local,
        public.scheme(),
        "Put a proxy with a certificate in front (Caddy gets one by itself) and set `ROOKERY_PUBLIC_URL=https://…`",
    );
    CheckRow::new("public-https", "https, unless it is this machine", judged)
}

/// The address is the operator's own, so it may be anywhere.
fn way(app: &App, given: &Given) -> Result<Outside> {
    let anywhere: std::result::Result<Vec<IpNet>, _> =
        ["0.0.0.0/0", "::/0"].iter().map(|net| net.parse()).collect();
    let trusted = app.config.trust_ca_file.as_deref();
    Outside::new(anywhere.map_err(Error::internal)?, &app.config.dns, trusted, given.patience)
}

async fn ask(app: &App, given: &Given, method: Method, address: &Url) -> Result<OutsideAnswer, String> {
    let asked = async {
        let way = way(app, given)?;
        let request = Request::builder().method(method).uri(address.path()).body(Full::<Bytes>::default());
        let request = request.map_err(Error::internal)?;
        let to = way.check(address).await.map_err(Error::internal)?;
        way.send(&to, request, MOST_BYTES).await.map_err(Error::internal)
    };
    asked.await.map_err(|error| error.to_string())
}

async fn alive(app: &App, given: &Given, public: &Url) -> Result<RowJudgement> {
    let fix = "Is the service running, does the name lead to this machine, does the proxy pass on to `ROOKERY_LISTEN`? \
               Ask with `curl -v` for the address with `/livez` behind it.";
    let address = public.join("/livez").map_err(Error::internal)?;
    Ok(match ask(app, given, Method::GET, &address).await {
        Ok(answer) if answer.status == 200 && answer.body.starts_with(b"{\"ok\":true") => right("it answers"),
        Ok(answer) => wrong(format!("something else answers there (status {})", answer.status), fix),
        Err(error) => wrong(error, fix),
    })
}

/// The MCP address refuses a host that is not the public one, before it asks for a key.
async fn host(app: &App, given: &Given, public: &Url) -> Result<RowJudgement> {
    let address = public.join("/mcp").map_err(Error::internal)?;
    Ok(match ask(app, given, Method::POST, &address).await {
        Ok(answer) if answer.status == 403 => wrong(
            "another name arrives here: the MCP address refuses every client",
            "Let the proxy pass the original Host, in nginx with `proxy_set_header Host $host;` Caddy does it by itself.",
        ),
        Ok(answer) => either(
            answer.status == 401,
            format!("the MCP address asks for a key (status {})", answer.status),
            "Let the proxy pass POST requests on `/mcp` as they come.",
        ),
        Err(error) => wrong(error, "Let the proxy pass POST requests on `/mcp` as they come."),
    })
}

async fn lasts(app: &App, given: &Given, public: &Url, dns: Option<&Dns>) -> Result<RowJudgement> {
    if public.scheme() != "https" {
        return Ok(right("no https, so no certificate"));
    }
    let port = public.port_or_known_default().unwrap_or(443);
    let (host, addresses) = match (public.host(), dns) {
        (Some(Host::Ipv4(address)), _) => (address.to_string(), vec![IpAddr::V4(address)]),
        (Some(Host::Ipv6(address)), _) => (address.to_string(), vec![IpAddr::V6(address)]),
        (Some(Host::Domain(name)), Some(dns)) if name != "localhost" => {
            (name.to_owned(), dns.addresses(name).await?)
        }
        (Some(Host::Domain(name)), _) => (name.to_owned(), vec![IpAddr::from([127, 0, 0, 1])]),
        (None, _) => return Ok(right("no host, so no certificate")),
    };
    let address = addresses.first().ok_or_else(|| Error::internal("the name has no address"))?;
    let roots = outside::roots(app.config.trust_ca_file.as_deref())?;
    let shown = certificate::of_server(SocketAddr::new(*address, port), &host, roots, given.patience).await?;
    let ends = certificate::ends(&shown).ok_or_else(|| Error::internal("the certificate tells no end"))?;
    Ok(certificate::judge(
        ends,
        app.clock.now(),
        "Renew it with `certbot renew`, or look into the log of the proxy for why it did not.",
    ))
}

/// That host answers with mail only, to signed addresses: anything else is a 404.
async fn content(app: &App, given: &Given) -> Result<RowJudgement> {
    let Some(address) = &app.config.content_url else { return Ok(right("not set")) };
    let fix = "Point the name at this machine, give it a certificate, and let the proxy pass Host on.";
    Ok(match ask(app, given, Method::GET, address).await {
        Ok(answer) => either(answer.status == 404, format!("it answers (status {})", answer.status), fix),
        Err(error) => wrong(error, fix),
    })
}
