//! `/settings/people/roles`: the roles of everybody whose select was sent along, in one transaction.
//! One that is refused refuses all.

use axum::response::Response;

use crate::respond;
use crate::settings::people::{PATH, list};
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_base::ids::PersonId;
use rookery_core::workspace::people::{Role, roles};

/// A page has that many people at most.
const MOST: usize = 1000;

pub async fn save(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    match change(&asked, &form).await {
        Ok(()) => Ok(respond::see_other_with(PATH, Toast::new(Done::RolesSaved, ""))),
        Err(error @ (Error::Problems(_) | Error::Forbidden(_))) => {
            list::refused(&asked, list::TypedInvitation::default(), error).await
        }
        Err(error) => Err(error),
    }
}

/// Fields come as `role=usr_…:member:admin`. Those that were not touched say the same twice and change nothing, whatever a
/// colleague did since the page was opened.
async fn change(asked: &MemberRequest, form: &Form) -> Result<()> {
    let mut wanted: Vec<(PersonId, Role)> = Vec::new();
    for field in form.all("role").take(MOST) {
        let mut parts = field.splitn(3, ':');
        let (person, before, role) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
        if before != Some(role) {
            let person = person.and_then(|person| person.parse().ok());
            let person =
                person.ok_or_else(|| Error::problem("person", "Nobody of that id is on the team"))?;
            wanted.push((person, role.parse()?));
        }
    }
    let mut tx = asked.tx().await?;
    roles::change(&mut tx, &asked.person.by(), &wanted).await?;
    tx.commit().await
}
