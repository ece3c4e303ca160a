//! `/settings/people/{id}/remove`: the question before somebody leaves. It shows what they hold and asks who takes over
//! each; what ends in any case stands there too.

use askama::Template;
use axum::response::Response;
use url::Url;

use crate::respond;
use crate::settings::people::{PATH, list};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::PersonId;
use rookery_core::workspace::people::away::Absence;
use rookery_core::workspace::people::list::{self as listing, ListedPerson};
use rookery_core::workspace::people::roles;
use rookery_upkeep::departures::held::{self, Held};
use rookery_upkeep::departures::remove::{self, HandOver};

#[derive(Template)]
#[template(path = "settings/people/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    leaving: ListedPerson,
    held: Held,
    /// Where webhooks go, without what may be secret in their address.
    webhooks: Vec<String>,
    you: PersonId,
    colleagues: Vec<ListedPerson>,
}

impl RemovePage {
    fn administrators(&self) -> impl Iterator<Item = &ListedPerson> {
        self.colleagues.iter().filter(|person| person.role.administers())
    }

    /// What follows their name where somebody is chosen: ` (out until 24 Nov)`, while they are.
    fn out_until(&self, person: &ListedPerson) -> String {
        let times = &self.shell.times;
        let absence = Absence::stored(person.away_from, person.away_until);
        let absence = absence.filter(|absence| absence.holds(times.now));
        absence.map(|absence| format!(" (out until {})", times.until(&absence.until))).unwrap_or_default()
    }

    fn counted(&self, of: &[String], one: &str, more: &str) -> String {
        format!("{} {}", of.len(), if of.len() == 1 { one } else { more })
    }

    /// The kinds of things somebody can have, and whether this person has any.
    fn kinds(&self) -> [(&'static str, bool); 6] {
        let held = &self.held;
        [
            ("open conversations", held.conversations > 0),
            ("unsent drafts", held.drafts > 0),
            ("scheduled mail", held.scheduled > 0),
            ("private inboxes", held.private_inboxes > 0),
            ("webhooks", !held.webhooks.is_empty() || held.private_webhooks > 0),
            ("API keys", !held.keys.is_empty()),
        ]
    }

    fn holds(&self) -> bool {
        self.kinds().iter().any(|(_, held)| *held)
    }

    /// `No unsent drafts, private inboxes or API keys.`
    fn nothing(&self) -> Option<String> {
        let kinds = self.kinds();
        let none: Vec<&str> = kinds.iter().filter(|(_, held)| !held).map(|(name, _)| *name).collect();
        match none.split_last()? {
            (last, []) => Some(format!("No {last}.")),
            (last, others) => Some(format!("No {} or {last}.", others.join(", "))),
        }
    }

    /// The first word of the name, for sentences.
    fn first(&self) -> &str {
        self.leaving.name.split_whitespace().next().unwrap_or(&self.leaving.name)
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: PersonId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let workspace = asked.person.workspace;
    let (leaving, colleagues): (Vec<_>, Vec<_>) =
        listing::list(&mut reading, workspace).await?.into_iter().partition(|person| person.id == id);
    let leaving = leaving.into_iter().next().ok_or(Error::Missing("No such person in this workspace."))?;
    if id == asked.person.id || !roles::manages(asked.person.role, leaving.role) {
        return Err(Error::Forbidden(
            "Only owners can remove an owner, and nobody removes themselves.".into(),
        ));
    }
    let held = held::by(&mut reading, workspace, id).await?;
    let webhooks = held.webhooks.iter().map(|url| host_of(url)).collect();
    respond::page(&RemovePage {
        shell,
        page: PATH,
        leaving,
        held,
        webhooks,
        you: asked.person.id,
        colleagues,
    })
}

pub async fn remove_them(asked: MemberRequest) -> Result<Response> {
    let id: PersonId = asked.id("id")?;
    let form = asked.form().await?;
    let heir = |name: &str| form.parse::<PersonId>(name);
    let to = HandOver {
        conversations: heir("conversations")?,
        drafts: heir("drafts")?,
        inboxes: heir("inboxes")?,
        webhooks: heir("webhooks")?,
        stop_scheduled: form.get("scheduled") == Some("stop"),
    };
    let mut tx = asked.tx().await?;
    match remove::remove(&mut tx, &asked.person.by(), id, to).await {
        Ok(()) => {
            tx.commit().await?;
            Ok(respond::see_other_with(PATH, Toast::new(Done::PersonRemoved, "")))
        }
        Err(error @ (Error::Problems(_) | Error::Forbidden(_))) => {
            drop(tx);
            list::refused(&asked, list::TypedInvitation::default(), error).await
        }
        Err(error) => Err(error),
    }
}

fn host_of(url: &str) -> String {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| "an address".to_owned())
}
