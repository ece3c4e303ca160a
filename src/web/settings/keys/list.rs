//! The list of keys: whose, what each may do, when and from where it was last used. Revoked ones are folded away.
//! No secret is kept, so none can be shown.

use askama::Template;
use axum::response::Response;
use chrono::TimeDelta;

use crate::breaking_changes::BreakingChange;
use crate::error::Result;
use crate::web::respond;
use crate::web::settings::agents::limits;
use crate::web::settings::keys::words;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;
use crate::workspace::agents::list::{self, Listed};

/// A key that nobody used for so long could go.
const UNUSED: TimeDelta = TimeDelta::days(90);

#[derive(Template)]
#[template(path = "settings/keys/list.html")]
struct KeysPage {
    shell: Shell,
    page: &'static str,
    keys: Vec<Listed>,
    revoked: Vec<Listed>,
    changes: Vec<&'static BreakingChange>,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let all = list::all(&mut reading, asked.person.workspace).await?;
    let (keys, revoked) = all.into_iter().partition(|key| key.revoked_at.is_none());
    let today = shell.times.now.date_naive();
    let changes = asked.app().breaking_changes.iter().filter(|change| change.ends > today).collect();
    respond::page(&KeysPage { shell, page: super::PATH, keys, revoked, changes })
}

impl KeysPage {
    fn may(&self, key: &Listed) -> String {
        words::may(&key.scopes)
    }

    fn sends(&self, key: &Listed) -> bool {
        words::sends(&key.scopes)
    }

    fn limits(&self, key: &Listed) -> Option<String> {
        limits::in_words(&key.caps)
    }

    fn is_unused(&self, key: &Listed) -> bool {
        key.used.as_ref().map_or(key.made_at, |used| used.at) < self.shell.times.now - UNUSED
    }
}
