//! `/sign-out`: ends the session of this browser, whatever the browser keeps of it.
//! Pages that were cached are dropped, so that the next person at this device sees none.

use axum::response::Response;

use crate::visit::MemberRequest;
use crate::{respond, session};
use rookery_base::error::Result;
use rookery_core::workspace::sessions;
use rookery_http::answers::insert;

pub async fn sign_out(asked: MemberRequest) -> Result<Response> {
    let mut tx = asked.tx().await?;
    sessions::end(&mut tx, asked.person.id, asked.session.id).await?;
    tx.commit().await?;
    let mut response = respond::see_other("/sign-in");
    session::clear_cookie(asked.app(), &mut response);
    insert(response.headers_mut(), "clear-site-data", "\"cache\"");
    Ok(response)
}
