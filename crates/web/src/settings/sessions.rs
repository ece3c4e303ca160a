//! `/profile/sessions/…`: signs a person out of one device, or of all but this one. Another person's session is
//! as if it were not there.

use axum::response::Response;

use crate::settings::profile;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use crate::{respond, session};
use rookery_base::error::Result;
use rookery_base::ids::SessionId;
use rookery_core::workspace::sessions;

pub async fn end(asked: MemberRequest) -> Result<Response> {
    let id: SessionId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    sessions::end(&mut tx, asked.person.id, id).await?;
    tx.commit().await?;
    if id == asked.session.id {
        let mut response = respond::see_other("/sign-in");
        session::clear_cookie(asked.app(), &mut response);
        return Ok(response);
    }
    Ok(respond::see_other_with(&format!("{}#sessions", profile::PATH), Toast::new(Done::SignedOut, "")))
}

pub async fn end_others(asked: MemberRequest) -> Result<Response> {
    let mut tx = asked.tx().await?;
    sessions::end_others(&mut tx, asked.person.id, asked.session.id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("{}#sessions", profile::PATH), Toast::new(Done::SignedOut, "")))
}
