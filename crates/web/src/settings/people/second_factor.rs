//! `/settings/people/…/second-factor`: owners ask everybody for one; and for somebody who lost theirs, whoever manages them
//! turns it off, after a question.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::people::{PATH, list};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::PersonId;
use rookery_core::workspace::people::list::{self as listing, ListedPerson};
use rookery_core::workspace::people::{Role, roles};
use rookery_core::workspace::{passkeys, second_factor, sessions};

#[derive(Template)]
#[template(path = "settings/people/second_factor.html")]
struct OffPage {
    shell: Shell,
    page: &'static str,
    person: ListedPerson,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: PersonId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let listed = listing::list(&mut reading, asked.person.workspace).await?;
    let person = listed.into_iter().find(|person| person.id == id && person.has_second_factor);
    let person = person.ok_or(Error::Missing("No such person in this workspace."))?;
    if id == asked.person.id || !roles::manages(asked.person.role, person.role) {
        return Err(Error::Forbidden("Only owners can do this for an owner.".into()));
    }
    respond::page(&OffPage { shell, page: PATH, person })
}

/// Sessions and passkeys end too: whoever has the phone may have those.
pub async fn turn_off(asked: MemberRequest) -> Result<Response> {
    let id: PersonId = asked.id("id")?;
    if id == asked.person.id {
        return Err(Error::Forbidden("Your own is in your profile.".into()));
    }
    let mut tx = asked.tx().await?;
    let by = asked.person.by();
    roles::lock(&mut tx, &by, id).await?;
    sessions::end_all(&mut tx, id).await?;
    passkeys::remove_all(&mut tx, &by, id).await?;
    second_factor::turn_off(&mut tx, &by, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::SecondFactorOff, "")))
}

/// Only owners, and only with one of their own: nobody locks themselves out.
pub async fn require(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let required = form.flag("required");
    if asked.person.role != Role::Owner {
        let error = Error::Forbidden("Only owners can require two-step verification.".into());
        return list::refused(&asked, list::TypedInvitation::default(), error).await;
    }
    let mut tx = asked.tx().await?;
    let own = second_factor::standing(&mut tx, asked.person.workspace, asked.person.id).await?;
    if required && own.since.is_none() {
        drop(tx);
        let error =
            Error::problem("required", "Set up your own two-step verification first, in your profile");
        return list::refused(&asked, list::TypedInvitation::default(), error).await;
    }
    second_factor::require(&mut tx, &asked.person.by(), required).await?;
    tx.commit().await?;
    let done = if required { Done::SecondFactorRequired } else { Done::SecondFactorOptional };
    Ok(respond::see_other_with(PATH, Toast::new(done, "")))
}
