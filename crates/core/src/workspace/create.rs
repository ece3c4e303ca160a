//! Creates a workspace: its entry in the directory, its owner and its sandbox inbox. The directory comes first, so
//! that a taken name never leaves half a workspace behind.

use crate::workspace::access::By;
use crate::workspace::mailboxes;
use crate::workspace::people::{self, Role, a_mailed_name};
use crate::workspace::plan::Plan;
use crate::workspace::preferences::a_zone;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{Id, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;

/// The zone of a workspace that was made without one.
const ZONE: &str = "UTC";

pub struct Created {
    pub workspace: WorkspaceId,
    pub owner: PersonId,
    pub sandbox_address: String,
}

/// A workspace that can be made: everything of it was checked.
pub struct New {
    pub id: WorkspaceId,
    name: String,
    plan: Plan,
    zone: String,
    owner_email: String,
    owner_name: String,
}

pub async fn create(
    app: &App,
    name: &str,
    plan: Plan,
    owner_email: &str,
    owner_name: &str,
) -> Result<Created> {
    let new = New::checked(app, name, plan, ZONE, owner_email, owner_name)?;
    let slug = claim_slug(app, &new).await?;
    new.make(app, &slug).await
}

impl New {
    pub fn checked(
        app: &App,
        name: &str,
        plan: Plan,
        zone: &str,
        owner_email: &str,
        owner_name: &str,
    ) -> Result<Self> {
        Ok(Self {
            id: WorkspaceId::mint(app.clock.now(), &app.random),
            name: a_mailed_name("name", name, 100)?,
            plan,
            zone: a_zone("zone", zone)?,
            owner_email: people::an_address("owner-email", owner_email)?,
            owner_name: a_mailed_name("owner-name", owner_name, 100)?,
        })
    }

    /// A word of its name that addresses can have.
    pub fn slug(&self) -> String {
        let mut plain = String::new();
        for letter in rookery_base::search_terms::fold(&self.name).chars() {
            match letter {
                'a'..='z' | '0'..='9' => plain.push(letter),
                _ if plain.is_empty() || plain.ends_with('-') => {}
                _ => plain.push('-'),
            }
        }
        plain.truncate(30);
        match plain.trim_matches('-') {
            "" => "workspace".to_owned(),
            sound => sound.to_owned(),
        }
    }

    /// Makes what stands in the directory already.
    pub async fn make(&self, app: &App, slug: &str) -> Result<Created> {
        let mut tx = Tx::creating(app.connection().await?, app.frame(self.id)).await?;
        let now = tx.now();
        sqlx::query!(
            "insert into workspaces (id, name, slug, plan, time_zone, created_at) values ($1, $2, $3, $4, $5, $6)",
            self.id.0,
            self.name,
            slug,
            self.plan as Plan,
            self.zone,
            now
        )
        .execute(&mut *tx)
        .await?;
        let owner =
            people::add(&mut tx, &By::System, &self.owner_email, &self.owner_name, Role::Owner).await?;
        let sandbox_address = mailboxes::create_sandbox(&mut tx, slug).await?;
        tx.commit().await?;
        Ok(Created { workspace: self.id, owner, sandbox_address })
    }
}

/// A slug from the name; with a random suffix when it is taken.
async fn claim_slug(app: &App, new: &New) -> Result<String> {
    let plain = new.slug();
    for attempt in 0..10 {
        let slug = match attempt {
            0 => plain.clone(),
            _ => format!("{plain}-{}", app.random.hex(6)),
        };
        if app.directory.add_workspace(new.id, &slug, app.config.cell()).await? {
            return Ok(slug);
        }
    }
    Err(Error::problem("name", "is taken by too many workspaces, choose another"))
}
