//! Placing a hold, and ending one after a question.
//! What it covered can be erased again from then on.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::data::PATH;
use crate::settings::data::show::{TypedDataForms, refused};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::HoldId;
use rookery_core::conversations::keeping::holds::{self as verbs, Covers, Hold};

#[derive(Template)]
#[template(path = "settings/data/end_hold.html")]
struct EndPage {
    shell: Shell,
    page: &'static str,
    hold: Hold,
}

/// `POST /settings/data/holds`
pub async fn place(asked: MemberRequest) -> Result<Response> {
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
            let typed = TypedDataForms {
                hold_name: field("name").to_owned(),
                hold_covers: field("covers").to_owned(),
                hold_address: field("address").to_owned(),
                hold_conversation: field("conversation").to_owned(),
                ..TypedDataForms::default()
            };
            refused(&asked, typed, "hold", error).await
        }
    }
}

/// `GET /settings/data/holds/{id}/end`
pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: HoldId = asked.id("id")?;
    let all = verbs::standing(&mut *asked.reading().await?, &asked.person).await?;
    let hold = all.into_iter().find(|hold| hold.id == id).ok_or(Error::Missing("No such hold."))?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&EndPage { shell, page: PATH, hold })
}

/// `POST /settings/data/holds/{id}/end`
pub async fn end(asked: MemberRequest) -> Result<Response> {
    let id: HoldId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    verbs::end(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("{PATH}#holds"), Toast::new(Done::HoldEnded, "")))
}
