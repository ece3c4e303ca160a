//! What is done to a rule by one press on the list: up, down, on, off.
//! Each leads back to the list.

use axum::response::Response;

use crate::respond;
use crate::settings::rules::PATH;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::RuleId;
use rookery_core::rules::store::{self, Direction};

pub async fn shift(asked: MemberRequest) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    let form = asked.form().await?;
    let direction = match form.get("to") {
        Some("up") => Direction::Up,
        Some("down") => Direction::Down,
        _ => return Err(Error::problem("to", "must be up or down")),
    };
    let mut tx = asked.tx().await?;
    store::shift(&mut tx, &asked.person.by(), id, direction).await?;
    tx.commit().await?;
    Ok(respond::see_other(&format!("{PATH}#{id}")))
}

pub async fn turn(asked: MemberRequest) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    let on = asked.form().await?.get("on") == Some("1");
    let mut tx = asked.tx().await?;
    store::turn(&mut tx, &asked.person.by(), id, on).await?;
    tx.commit().await?;
    let done = if on { Done::RuleOn } else { Done::RuleOff };
    Ok(respond::see_other_with(&format!("{PATH}#{id}"), Toast::new(done, "")))
}
