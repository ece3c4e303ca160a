//! Creates a workspace: its entry in the directory, its owner and its sandbox inbox. The directory comes first, so
//! that a taken name never leaves half a workspace behind.

use crate::app::App;
use crate::error::{Error, Result};
use crate::ids::{Id, PersonId, WorkspaceId};
use crate::store::db::Tx;
use crate::workspace::access::By;
use crate::workspace::mailboxes;
use crate::workspace::people::{self, Role, a_name};
use crate::workspace::plan::Plan;

pub struct Created {
    pub workspace: WorkspaceId,
    pub owner: PersonId,
    pub sandbox_address: String,
}

pub async fn create(
    app: &App,
    name: &str,
    plan: Plan,
    owner_email: &str,
    owner_name: &str,
) -> Result<Created> {
    let name = a_name("name", name, 100)?;
    people::an_address("owner-email", owner_email)?;
    a_name("owner-name", owner_name, 100)?;
    let workspace = WorkspaceId::mint(app.clock.now(), &app.random);
    let slug = claim_slug(app, workspace, &name).await?;
    let mut tx = Tx::creating(app.connection().await?, app.frame(workspace)).await?;
    let now = tx.now();
    sqlx::query!(
        "insert into workspaces (id, name, slug, plan, created_at) values ($1, $2, $3, $4, $5)",
        workspace.0,
        name,
        slug,
        plan as Plan,
        now
    )
    .execute(&mut *tx)
    .await?;
    let owner = people::add(&mut tx, &By::System, owner_email, owner_name, Role::Owner).await?;
    let sandbox_address = mailboxes::create_sandbox(&mut tx, &slug).await?;
    tx.commit().await?;
    Ok(Created { workspace, owner, sandbox_address })
}

/// A slug from the name; with a random suffix when it is taken.
async fn claim_slug(app: &App, workspace: WorkspaceId, name: &str) -> Result<String> {
    let mut plain = String::new();
    for letter in crate::search_terms::fold(name).chars() {
        match letter {
            'a'..='z' | '0'..='9' => plain.push(letter),
            _ if plain.is_empty() || plain.ends_with('-') => {}
            _ => plain.push('-'),
        }
    }
    plain.truncate(30);
    let plain = match plain.trim_matches('-') {
        "" => "workspace",
        sound => sound,
    };
    for attempt in 0..10 {
        let slug = match attempt {
            0 => plain.to_owned(),
            _ => format!("{plain}-{}", app.random.hex(6)),
        };
        if app.directory.add_workspace(workspace, &slug).await? {
            return Ok(slug);
        }
    }
    Err(Error::problem("name", "is taken by too many workspaces, choose another"))
}
