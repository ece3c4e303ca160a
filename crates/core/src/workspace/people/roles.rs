//! Roles of people who are on the team: who may give which, and that there is always an owner.
//! Owners manage everybody; admins manage everybody but owners, and make none.

use serde_json::json;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::{NO_PERSON, Role};
use rookery_base::error::{Error, Result};
use rookery_base::ids::PersonId;
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;

/// Whether somebody of this role may make somebody such a one, remove one, or change one.
pub fn manages(role: Role, whom: Role) -> bool {
    match role {
        Role::Owner => true,
        Role::Admin => whom != Role::Owner,
        Role::Member => false,
    }
}

/// Somebody who is being changed. All owners are locked with them, so that the last one stays.
pub struct Managed {
    pub id: PersonId,
    pub name: String,
    pub email: String,
    pub role: Role,
    /// The role of whoever changes them; an operator has none.
    acting: Option<Role>,
    owners: usize,
}

impl Managed {
    /// What is not an admin's to decide. An operator may.
    pub fn must_be_managed_by_an_owner(&self, otherwise: &'static str) -> Result<()> {
        match self.acting {
            Some(Role::Owner) | None => Ok(()),
            Some(_) => Err(Error::Forbidden(otherwise.into())),
        }
    }

    /// There is always an owner.
    pub fn must_not_be_the_last_owner(&self) -> Result<()> {
        if self.role == Role::Owner && self.owners == 1 { Err(no_owner_left()) } else { Ok(()) }
    }
}

/// Locks somebody whom `by` may manage. An operator may manage everybody.
pub async fn lock(tx: &mut Tx<'_>, by: &By, person: PersonId) -> Result<Managed> {
    let workspace = tx.workspace().0;
    let acting = match by {
        By::Person { id, .. } => id.0,
        _ => 0,
    };
    let rows = sqlx::query!(
        r#"select id as "id: PersonId", name, email, role as "role: Role" from people
           where workspace_id = $1 and removed_at is null and (role = 'owner' or id in ($2, $3))
           order by id for no key update"#,
        workspace,
        person.0,
        acting
    )
    .fetch_all(&mut **tx)
    .await?;
    let owners = rows.iter().filter(|row| row.role == Role::Owner).count();
    let acting_role = rows.iter().find(|row| row.id.0 == acting).map(|row| row.role);
    let found = rows.into_iter().find(|row| row.id == person).ok_or(NO_PERSON)?;
    let may = acting_role.is_some_and(|role| manages(role, found.role));
    if *by != By::System && !may {
        return Err(Error::Forbidden("Only owners can change or remove an owner.".into()));
    }
    Ok(Managed {
        id: person,
        name: found.name,
        email: found.email,
        role: found.role,
        acting: acting_role,
        owners,
    })
}

/// Gives roles to some people, all or none. Everybody is locked before the first change, because whoever signs in meanwhile
/// waits for the audit log with their row in hand.
pub async fn change(tx: &mut Tx<'_>, by: &By, wanted: &[(PersonId, Role)]) -> Result<()> {
    let mut wanted = wanted.to_vec();
    wanted.sort_by_key(|(person, _)| *person);
    wanted.dedup_by_key(|(person, _)| *person);
    let mut changes = Vec::new();
    for (person, to) in wanted {
        let managed = lock(tx, by, person).await?;
        if managed.role != to {
            managed.acting.map_or(Ok(()), |acting| may_make(acting, to))?;
            changes.push((managed, to));
        }
    }
    let is_owner = |role: Role| usize::from(role == Role::Owner);
    let made: usize = changes.iter().map(|(_, to)| is_owner(*to)).sum();
    let unmade: usize = changes.iter().map(|(managed, _)| is_owner(managed.role)).sum();
    if changes.first().is_some_and(|(managed, _)| managed.owners + made <= unmade) {
        return Err(no_owner_left());
    }
    for (managed, to) in &changes {
        let workspace = tx.workspace().0;
        sqlx::query!(
            "update people set role = $3 where workspace_id = $1 and id = $2",
            workspace,
            managed.id.0,
            to.as_str()
        )
        .execute(&mut **tx)
        .await?;
        tx.touch(managed.id.0, LiveTopic::Rights);
    }
    for (managed, to) in &changes {
        let data = json!({ "from": managed.role.as_str(), "to": to.as_str() });
        let subject = Subject { id: &managed.id, name: &managed.name };
        audit::record(tx, by, Did::RoleChanged, subject, data).await?;
    }
    Ok(())
}

fn no_owner_left() -> Error {
    Error::problem("person", "The only owner stays. Make somebody else an owner first")
}

pub fn may_make(role: Role, wanted: Role) -> Result<()> {
    if manages(role, wanted) {
        Ok(())
    } else {
        Err(Error::Forbidden("Only owners can make somebody an owner.".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admins_manage_everybody_but_owners_and_members_nobody() {
        let managed = Role::ALL.map(|role| Role::ALL.map(|whom| manages(role, whom)));
        assert_eq!(managed, [[true, true, true], [false, true, true], [false, false, false]]);
    }
}
