//! Whether agents read secure words: an owner's decision, on the page of the agents. Admins see what holds and cannot
//! change it.

use axum::response::Response;

use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_core::workspace::agents::secure_words;

pub async fn decide(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let allowed = form.get("read") == Some("yes");
    let mut tx = asked.tx().await?;
    secure_words::allow(&mut tx, &asked.person, allowed).await?;
    tx.commit().await?;
    let done = if allowed { Done::SecureForAgents } else { Done::SecureForPeople };
    Ok(respond::see_other_with(super::PATH, Toast::new(done, "")))
}
