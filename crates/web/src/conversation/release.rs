//! `POST /conversations/cnv_…/release`: a person says that a conversation is no scam. What was withheld is told then (D239).
//! Only people can, and it is safe to repeat.

use axum::response::Response;

use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_core::conversations::release_held;

pub async fn release(asked: MemberRequest) -> Result<Response> {
    let id = asked.param("id").unwrap_or_default();
    let mut tx = asked.tx().await?;
    release_held::release(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("/conversations/{id}"), Toast::new(Done::Released, id)))
}
