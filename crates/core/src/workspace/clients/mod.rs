//! MCP clients that people sign in to by OAuth 2.1 (docs/decisions/client-sign-in.md). A client is a stranger: it has a name it
//! chose and places to come back to. What a person lets it do is an agent of its own (`grants`), never the client's.
//!
//! It has registered, or its id is the address of a document that says the same.

pub mod client;
pub mod document;
pub mod grants;
pub mod redirects;

use url::Url;

use crate::workspace::access::Scope;
use crate::workspace::clients::client::OauthClient;
use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::store::clients::Registered;

/// The second door of the tool server: the same tools, for whoever signs in instead of having a key.
pub const RESOURCE_PATH: &str = "/mcp/sign-in";
pub const ISSUER_PATH: &str = "/oauth";
/// What it can ask for.
pub const OFFERED: [Scope; 4] = Scope::OF_PEOPLE;

const ID_LETTERS: usize = 32;
const ID_PREFIX: &str = "rkc_";

/// `https://rookery.example/mcp/sign-in`: what tokens are for, and good for.
pub fn resource(config: &Config) -> String {
    at(config, RESOURCE_PATH)
}

/// Who gives tokens out, as every answer names itself.
pub fn issuer(config: &Config) -> String {
    at(config, ISSUER_PATH)
}

pub fn at(config: &Config, path: &str) -> String {
    format!("{}{path}", config.public_url.as_str().trim_end_matches('/'))
}

/// Whether a client that says what it wants a token for means us. One that says nothing can mean nobody else.
pub fn is_for_us(config: &Config, asked: Option<&str>) -> bool {
    let ours = resource(config);
    asked
        .is_none_or(|asked| Url::parse(asked).is_ok_and(|asked| asked.as_str().trim_end_matches('/') == ours))
}

/// Takes a client in that describes itself. Gives it with its new id.
pub async fn register(app: &App, name: Option<&str>, redirects: Vec<String>) -> Result<OauthClient> {
    let client = OauthClient {
        id: format!("{ID_PREFIX}{}", app.random.letters(ID_LETTERS)),
        ..OauthClient::described(name, redirects)?
    };
    let registered = Registered { name: client.name.clone(), redirects: client.redirects.clone() };
    app.directory.register_client(&client.id, &registered, app.clock.now()).await?;
    Ok(client)
}

/// The client of this id; an error says what is wrong with it.
pub async fn find(app: &App, id: &str) -> Result<OauthClient> {
    if id.starts_with("http") {
        return document::fetch(&app.outside, id).await;
    }
    let found = if id.strip_prefix(ID_PREFIX).is_some_and(|rest| rest.len() == ID_LETTERS) {
        app.directory.client(id, app.clock.now()).await?
    } else {
        None
    };
    let Registered { name, redirects } = found.ok_or_else(|| {
        Error::problem("client_id", "is of no program that is registered here, or not any more")
    })?;
    Ok(OauthClient { id: id.to_owned(), name, redirects })
}
