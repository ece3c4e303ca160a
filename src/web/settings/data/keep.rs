//! How long closed mail of each inbox is kept, and bringing back what lies in the trash.
//! A number of days for each inbox, or nothing for ever.

use axum::response::Response;

use crate::conversations::keeping::retention;
use crate::error::{Error, Result};
use crate::ids::MailboxId;
use crate::web::respond;
use crate::web::settings::data::PATH;
use crate::web::settings::data::show::{Typed, refused};
use crate::web::toast::{Done, Toast};
use crate::web::visit::{Asked, Form};
use crate::workspace::inbox_settings::keep_days;

/// `POST /settings/data/keep`: a field for each inbox, its days or nothing. All or none are changed.
pub async fn save(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    match set(&asked, &form).await {
        Ok(()) => Ok(respond::see_other_with(&format!("{PATH}#keep"), Toast::new(Done::RetentionSaved, ""))),
        Err(error @ Error::Problems(_)) => refused(&asked, Typed::default(), "keep", error).await,
        Err(error) => Err(error),
    }
}

async fn set(asked: &Asked, form: &Form) -> Result<()> {
    let mut wanted = Vec::new();
    for id in form.all("inbox") {
        let Ok(inbox) = id.parse::<MailboxId>() else { continue };
        let typed = form.get(&format!("days-{inbox}")).unwrap_or_default().trim();
        let days = match typed {
            "" => None,
            typed => Some(
                typed.parse().map_err(|_| Error::problem("days", "must be a number, or nothing for ever"))?,
            ),
        };
        wanted.push((inbox, days));
    }
    let mut tx = asked.tx().await?;
    keep_days::set(&mut tx, &asked.person, &wanted).await?;
    tx.commit().await
}

/// `POST /settings/data/trash/{id}/back`
pub async fn bring_back(asked: Asked) -> Result<Response> {
    let id = asked.param("id").unwrap_or_default().to_owned();
    let mut tx = asked.tx().await?;
    retention::bring_back(&mut tx, &asked.person, &id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("{PATH}#trash"), Toast::new(Done::BroughtBack, "")))
}
