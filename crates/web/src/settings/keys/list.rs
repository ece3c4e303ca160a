//! The list of keys: whose, what each may do, when and from where it was last used. Revoked ones are folded away.
//! No secret is kept, so none can be shown.

use askama::Template;
use axum::response::Response;
use chrono::TimeDelta;

use crate::respond;
use crate::settings::agents::limits;
use crate::settings::keys::words;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::breaking_changes::BreakingChange;
use rookery_base::error::Result;
use rookery_core::workspace::agents::list::{self, ListedAgent};

/// A key that nobody used for so long could go.
const UNUSED: TimeDelta = TimeDelta::days(90);

#[derive(Template)]
#[template(path = "settings/keys/list.html")]
struct KeysPage {
    shell: Shell,
    page: &'static str,
    keys: Vec<ListedAgent>,
    revoked: Vec<ListedAgent>,
    changes: Vec<&'static BreakingChange>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let all = list::all(&mut reading, asked.person.workspace).await?;
    let (keys, revoked) = all.into_iter().partition(|key| key.revoked_at.is_none());
    let today = shell.times.now.date_naive();
    let changes = asked.app().breaking_changes.iter().filter(|change| change.ends > today).collect();
    respond::page(&KeysPage { shell, page: super::PATH, keys, revoked, changes })
}

impl KeysPage {
    fn may(&self, key: &ListedAgent) -> String {
        words::may(&key.scopes)
    }

    fn sends(&self, key: &ListedAgent) -> bool {
        words::sends(&key.scopes)
    }

    fn limits(&self, key: &ListedAgent) -> Option<String> {
        limits::in_words(&key.caps)
    }

    fn is_unused(&self, key: &ListedAgent) -> bool {
        key.used.as_ref().map_or(key.made_at, |used| used.at) < self.shell.times.now - UNUSED
    }
}
