//! The first owner of an empty service: an operator prints a link, and whoever opens it makes the first workspace. It works
//! once, by a POST, within half an hour, and only while there is no workspace. Only its hash is kept.

pub mod steps;

use chrono::TimeDelta;

use crate::workspace::create::{Created, New};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::sha256;

const LASTS: TimeDelta = TimeDelta::minutes(30);
/// 256 bits.
const DIGITS: usize = 64;
const NOT_EMPTY: Error = Error::Missing(
    "There is a workspace already. Print a link for somebody of it: rookery admin sign-in-link. If nobody is in it, because \
     making it was interrupted, make another: rookery admin create-workspace",
);

/// The text of a link, as it is looked up.
#[derive(Clone, Copy)]
pub struct FirstRun([u8; 32]);

impl FirstRun {
    pub fn read(text: &str) -> Option<Self> {
        let sound = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        sound.then(|| Self(sha256(text)))
    }
}

/// Makes the link, and ends the one before.
pub async fn link(app: &App) -> Result<String> {
    let text = app.random.hex(DIGITS);
    if !app.directory.keep_first_run_link(sha256(&text), app.clock.now() + LASTS).await? {
        return Err(NOT_EMPTY);
    }
    app.config.public_url.join(&format!("welcome/{text}")).map(String::from).map_err(Error::internal)
}

/// Whether the link is good. It stays so: mail programs and chats open links before people do.
pub async fn is_open(app: &App, link: FirstRun) -> Result<bool> {
    app.directory.has_first_run_link(link.0, app.clock.now()).await
}

/// Uses the link up and makes the workspace. Nothing when somebody was quicker.
pub async fn found(app: &App, link: FirstRun, new: &New) -> Result<Option<Created>> {
    let slug = new.slug();
    if !app.directory.add_first_workspace(link.0, app.clock.now(), new.id, &slug, app.config.cell()).await? {
        return Ok(None);
    }
    match new.make(app, &slug).await {
        Ok(created) => Ok(Some(created)),
        // Nothing was made for certain: the service is empty again, and another link can be printed.
        Err(error) if !error.is_uncertain() => {
            app.directory.remove_workspace(new.id).await?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_be_a_link_is_looked_up() {
        assert!(FirstRun::read(&"0a".repeat(32)).is_some());
        for bad in ["", "0", &"0a".repeat(31), &"0a".repeat(33), &"0g".repeat(32), &"é".repeat(32)] {
            assert!(FirstRun::read(bad).is_none(), "{bad}");
        }
    }
}
