//! How long closed mail of each inbox is kept, and bringing back what lies in the trash.
//! A number of days for each inbox, or nothing for ever.

use axum::response::Response;

use crate::respond;
use crate::settings::data::PATH;
use crate::settings::data::show::{TypedDataForms, refused};
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_base::ids::MailboxId;
use rookery_core::conversations::keeping::retention;
use rookery_core::workspace::inbox_settings::keep_days;

/// `POST /settings/data/keep`: a field for each inbox with its number of days, or empty for no limit. Either all inboxes
/// are changed or none.
pub async fn save(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    match set(&asked, &form).await {
        Ok(()) => Ok(respond::see_other_with(&format!("{PATH}#keep"), Toast::new(Done::RetentionSaved, ""))),
        Err(error @ Error::Problems(_)) => refused(&asked, TypedDataForms::default(), "keep", error).await,
        Err(error) => Err(error),
    }
}

async fn set(asked: &MemberRequest, form: &Form) -> Result<()> {
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
pub async fn bring_back(asked: MemberRequest) -> Result<Response> {
    let id = asked.param("id").unwrap_or_default().to_owned();
    let mut tx = asked.tx().await?;
    retention::bring_back(&mut tx, &asked.person, &id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("{PATH}#trash"), Toast::new(Done::BroughtBack, "")))
}
