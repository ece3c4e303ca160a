//! `/profile/sessions/…`: signs a person out of one device, or of all but this one. Another person's session is
//! as if it were not there.

use axum::response::Response;

use crate::error::Result;
use crate::ids::SessionId;
use crate::web::settings::profile;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;
use crate::web::{respond, session};
use crate::workspace::sessions;

pub async fn end(asked: Asked) -> Result<Response> {
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

pub async fn end_others(asked: Asked) -> Result<Response> {
    let mut tx = asked.tx().await?;
    sessions::end_others(&mut tx, asked.person.id, asked.session.id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("{}#sessions", profile::PATH), Toast::new(Done::SignedOut, "")))
}
