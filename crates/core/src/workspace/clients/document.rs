//! A client whose id is the address of a document about it (OAuth Client ID Metadata Document). A stranger chose the address,
//! so it is fetched like any other of theirs: https, public addresses only, no redirects, bounded in size and time.
//!
//! It is fetched when a person who is signed in is asked, each time: nothing is kept that could be old.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::ACCEPT;
use hyper::{Method, Request};
use serde::Deserialize;
use url::Position;

use crate::workspace::clients::client::OauthClient;
use rookery_base::error::{Error, Result};
use rookery_base::net::outside::Outside;

const MOST_BYTES: usize = 10 << 10;
const FIELD: &str = "client_id";

#[derive(Deserialize)]
struct ClientDocument {
    client_id: String,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
}

pub async fn fetch(outside: &Outside, id: &str) -> Result<OauthClient> {
    let url = outside.a_public_address(FIELD, id).await?;
    // A text that a parser changes would be another address than the document names.
    if url.as_str() != id || url.path() == "/" {
        return Err(Error::problem(FIELD, "must be the whole address of a document, with its path"));
    }
    let unreachable = || Error::problem(FIELD, "is an address that this server could not fetch");
    let to = outside.check(&url).await.map_err(|_| unreachable())?;
    let request =
        Request::builder().method(Method::GET).uri(&url[Position::BeforePath..Position::AfterQuery]);
    let request = request.header(ACCEPT, "application/json").body(Full::new(Bytes::new()));
    let answer = outside.send(&to, request.map_err(Error::internal)?, MOST_BYTES + 1).await;
    let answer = answer.map_err(|_| unreachable())?;
    if answer.status != 200 || !answer.whole || answer.body.len() > MOST_BYTES {
        return Err(unreachable());
    }
    let wrong = || Error::problem(FIELD, "leads to a document that does not describe this program");
    let document: ClientDocument = serde_json::from_slice(&answer.body).map_err(|_| wrong())?;
    // Only clients without a secret: nobody shares one with us.
    let public = document.token_endpoint_auth_method.is_none_or(|method| method == "none");
    if document.client_id != id || !public {
        return Err(wrong());
    }
    let client = OauthClient::described(document.client_name.as_deref(), document.redirect_uris)?;
    Ok(OauthClient { id: id.to_owned(), ..client })
}
