//! Sends a request on to a node that serves its cell, as it came, and its answer back, as it comes. Once: whoever gets one
//! that was sent on and does not serve the cell either, says so instead of sending it on again.
//!
//! Inside the fleet's own network, without TLS. The other node trusts what it is told of the client's address only when
//! this one stands in its ROOKERY_TRUSTED_PROXIES.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::Response;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use crate::error::{Error, Result};
use crate::http::serve::From;
use crate::store::cells::Cell;

/// How long another node may take to answer the telephone.
const CONNECTING: Duration = Duration::from_secs(3);
const SENT_ON: HeaderName = HeaderName::from_static("rookery-sent-on");
/// What is about a connection and not about a request.
const OF_CONNECTION: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

pub fn was_sent_on(headers: &HeaderMap) -> bool {
    headers.contains_key(SENT_ON)
}

pub async fn send_on(cell: &Cell, request: Request) -> Result<Response> {
    let name = &cell.name;
    if was_sent_on(request.headers()) {
        return Err(Error::internal(format!(
            "a request for the cell {name} was sent on to a node without it"
        )));
    }
    let Some(address) = &cell.address else {
        return Err(Error::internal(format!("no node is known that serves the cell {name}")));
    };
    let address: Url = address.parse().map_err(Error::internal)?;
    let (host, port) =
        (address.host_str().unwrap_or_default(), address.port_or_known_default().unwrap_or(80));
    let connecting = timeout(CONNECTING, TcpStream::connect((host, port)));
    let stream = connecting.await.map_err(Error::internal)??;
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(Error::internal)?;
    // Ends with the answer's body, or with whoever reads it.
    tokio::spawn(connection);
    let answer = sender.send_request(as_it_came(request)?).await.map_err(Error::internal)?;
    let (mut parts, body) = answer.into_parts();
    OF_CONNECTION.iter().for_each(|name| {
        parts.headers.remove(name);
    });
    Ok(Response::from_parts(parts, Body::new(body)))
}

fn as_it_came(request: Request) -> Result<Request> {
    let (mut parts, body) = request.into_parts();
    // HTTP/2 names the host in the address.
    if let Some(authority) = parts.uri.authority().cloned() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(Error::internal)?;
        parts.headers.entry(header::HOST).or_insert(host);
    }
    let address = parts.uri.path_and_query().map_or("/", |address| address.as_str());
    parts.uri = address.parse::<Uri>().map_err(Error::internal)?;
    parts.version = axum::http::Version::HTTP_11;
    OF_CONNECTION.iter().for_each(|name| {
        parts.headers.remove(name);
    });
    if let Some(From(client)) = parts.extensions.get::<From>() {
        let client = HeaderValue::from_str(&client.to_string()).map_err(Error::internal)?;
        parts.headers.append("x-forwarded-for", client);
    }
    parts.headers.insert(SENT_ON, HeaderValue::from_static("1"));
    Ok(Request::from_parts(parts, body))
}
