//! Who plays: five people, two agents and three inboxes of a lettings agency, beside the workspace's own owner.
//! Everybody has an address under `.test`, so no mail to them leaves.

use std::collections::HashMap;

use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_core::workspace::access::{Actor, By, Scope};
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::keys::{self, Agent};
use rookery_core::workspace::mailboxes::{self, Mailbox};
use rookery_core::workspace::people::{self, Person, Role};

const PEOPLE: [(&str, &str, Role); 5] = [
    ("Ada Okonkwo", "ada", Role::Admin),
    ("Mia Lindqvist", "mia", Role::Member),
    ("Wanjirũ Kamau", "wanjiru", Role::Member),
    ("Jean-Baptiste de la Rochefoucauld-Montbel", "jb", Role::Member),
    ("Sanne Verbeek", "sanne", Role::Member),
];
const AGENTS: [&str; 2] = ["Lease Helper", "billing-bot"];
const INBOXES: [(&str, &str); 3] =
    [("lettings", "Lettings"), ("accounts", "Accounts & deposits"), ("repairs", "Repairs")];

pub struct Cast {
    /// By first name; the workspace's owner as `Owner`.
    people: HashMap<String, Person>,
    agents: HashMap<String, Agent>,
    /// The agents' names and keys, which exist only here.
    pub keys: Vec<(String, String)>,
    /// By the part before the `@`.
    pub inboxes: HashMap<String, Mailbox>,
}

impl Cast {
    pub async fn enter(app: &App, workspace: WorkspaceId, owner: PersonId) -> Result<Self> {
        let domain = free_domain(app, workspace).await?;
        let mut inboxes = HashMap::new();
        for (local, name) in INBOXES {
            let address = format!("{local}@{domain}");
            let id = mailboxes::create(app, workspace, &By::System, &address, name, None).await?;
            inboxes.insert(
                local.to_owned(),
                mailboxes::live(&mut *app.connection().await?, workspace, id).await?,
            );
        }
        let mut people = HashMap::new();
        let mut tx = app.begin(workspace).await?;
        for (name, local, role) in PEOPLE {
            let id = people::add(&mut tx, &By::System, &format!("{local}@{domain}"), name, role).await?;
            let first = name.split(' ').next().unwrap_or(name);
            people.insert(first.to_owned(), people::teammate(&mut tx, workspace, id).await?);
        }
        people.insert("Owner".to_owned(), people::teammate(&mut tx, workspace, owner).await?);
        tx.commit().await?;
        let (mut agents, mut made) = (HashMap::new(), Vec::new());
        for name in AGENTS {
            let scopes = [Scope::Read, Scope::Write, Scope::Draft, Scope::Send];
            let wanted = keys::KeyChoices { name, scopes: &scopes, livemode: true, caps: Caps::default() };
            let key = keys::create(app, workspace, &By::System, owner, wanted).await?.key;
            let found =
                keys::authenticate(&mut *app.connection().await?, workspace, keys::hash(&key)).await?;
            agents.insert(name.to_owned(), found.ok_or_else(|| nobody(name))?);
            made.push((name.to_owned(), key));
        }
        Ok(Self { people, agents, keys: made, inboxes })
    }

    pub fn actor(&self, name: &str) -> Result<&Actor> {
        match self.agents.get(name) {
            Some(agent) => Ok(agent),
            None => Ok(self.person(name)?),
        }
    }

    pub fn person(&self, name: &str) -> Result<&Person> {
        self.people.get(name).ok_or_else(|| nobody(name))
    }

    pub fn inbox(&self, local: &str) -> Result<&Mailbox> {
        self.inboxes.get(local).ok_or_else(|| Error::internal(format!("there is no inbox {local}")))
    }

    pub fn people(&self) -> impl Iterator<Item = &Person> {
        self.people.values()
    }
}

fn nobody(name: &str) -> Error {
    Error::internal(format!("nobody of the demonstration is called {name}"))
}

/// `larkfield.test`, or the next that no workspace of this service has.
async fn free_domain(app: &App, workspace: WorkspaceId) -> Result<String> {
    for number in 1..100 {
        let domain = match number {
            1 => "larkfield.test".to_owned(),
            _ => format!("larkfield-{number}.test"),
        };
        app.directory.assign_free_domain(workspace, &domain).await?;
        if app.directory.holder_of(&domain).await?.is_some_and(|holder| holder.workspace == workspace) {
            return Ok(domain);
        }
    }
    Err(Error::internal("There are a hundred demonstrations on this service. Remove one first."))
}
