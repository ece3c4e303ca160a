//! Placing a hold, and ending one after a question.
//! What it covered can be erased again from then on.

use askama::Template;
use axum::response::Response;

use crate::conversations::keeping::holds::{self as verbs, Covers, Hold};
use crate::error::{Error, Result};
use crate::ids::HoldId;
use crate::web::respond;
use crate::web::settings::data::PATH;
use crate::web::settings::data::show::{Typed, refused};
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "settings/data/end_hold.html")]
struct EndPage {
    shell: Shell,
    page: &'static str,
    hold: Hold,
}

/// `POST /settings/data/holds`
pub async fn place(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let field = |name| form.get(name).unwrap_or_default().trim();
    let covers = match field("covers") {
        "conversation" => Covers::Conversation(field("conversation")),
        "everything" => Covers::Everything,
        _ => Covers::Contact(field("address")),
    };
    let mut tx = asked.tx().await?;
    let placed = match verbs::place(&mut tx, &asked.person, field("name"), covers).await {
        Ok(_) => tx.commit().await,
        Err(error) => {
            drop(tx);
            Err(error)
        }
    };
    match placed {
        Ok(()) => Ok(respond::see_other_with(&format!("{PATH}#holds"), Toast::new(Done::HoldPlaced, ""))),
        Err(error) => {
            let error = match error {
                Error::Missing(_) => Error::problem("conversation", "none that you can see has this id"),
                error @ Error::Problems(_) => error,
                error => return Err(error),
            };
            let typed = Typed {
                hold_name: field("name").to_owned(),
                hold_covers: field("covers").to_owned(),
                hold_address: field("address").to_owned(),
                hold_conversation: field("conversation").to_owned(),
                ..Typed::default()
            };
            refused(&asked, typed, "hold", error).await
        }
    }
}

/// `GET /settings/data/holds/{id}/end`
pub async fn ask(asked: Asked) -> Result<Response> {
    let id: HoldId = asked.id("id")?;
    let all = verbs::standing(&mut *asked.reading().await?, &asked.person).await?;
    let hold = all.into_iter().find(|hold| hold.id == id).ok_or(Error::Missing("No such hold."))?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&EndPage { shell, page: PATH, hold })
}

/// `POST /settings/data/holds/{id}/end`
pub async fn end(asked: Asked) -> Result<Response> {
    let id: HoldId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    verbs::end(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("{PATH}#holds"), Toast::new(Done::HoldEnded, "")))
}
