//! An MCP client as it describes itself, checked and bounded, however that came: it registered, or a document says it.
//! Nothing of it is true but where it comes back to.

use crate::workspace::clients::redirects;
use rookery_base::error::{Error, Result};
use rookery_reading::text;

const LONGEST_NAME: usize = 60;
const MOST_REDIRECTS: usize = 10;

#[derive(Clone, Debug)]
pub struct OauthClient {
    pub id: String,
    pub name: String,
    pub redirects: Vec<String>,
}

impl OauthClient {
    /// What a client says of itself, checked and bounded. The id is still to come.
    pub fn described(name: Option<&str>, redirects: Vec<String>) -> Result<Self> {
        if redirects.is_empty() || redirects.len() > MOST_REDIRECTS {
            return Err(Error::problem("redirect_uris", format!("must be 1 to {MOST_REDIRECTS}")));
        }
        if !redirects.iter().all(|redirect| redirects::is_sound(redirect)) {
            let what = "must be https, or http to localhost, without a user name or a fragment";
            return Err(Error::problem("redirect_uris", what));
        }
        let name = text::line(name.unwrap_or_default());
        let name: String = name.chars().take(LONGEST_NAME).collect();
        let name = if name.is_empty() { "MCP client".to_owned() } else { name };
        Ok(Self { id: String::new(), name, redirects })
    }
}
