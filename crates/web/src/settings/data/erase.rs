//! `POST /settings/data/erase`: begins to erase a contact, when the address was typed once more.
//! A hold answers with 409.

use axum::response::Response;

use crate::respond;
use crate::settings::data::PATH;
use crate::settings::data::show::{TypedDataForms, refused};
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_upkeep::erasures::ask;

pub async fn erase(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let (address, confirm) = (form.text("address")?.trim(), form.text("confirm")?.trim());
    let done = if confirm.to_lowercase() == address.to_lowercase() {
        let mut tx = asked.tx().await?;
        match ask::erase(&mut tx, &asked.person, address, form.get("why").unwrap_or_default()).await {
            Ok(_) => tx.commit().await,
            Err(error) => {
                drop(tx);
                Err(error)
            }
        }
    } else {
        Err(Error::Problems(vec![]))
    };
    let typed = || TypedDataForms { who: address.to_owned(), ..TypedDataForms::default() };
    match done {
        Ok(()) => {
            Ok(respond::see_other_with(&format!("{PATH}#erasures"), Toast::new(Done::ErasureBegun, "")))
        }
        Err(Error::Problems(all)) if all.is_empty() => {
            let error = Error::problem("confirm", "is not the address above. Nothing was erased");
            refused(&asked, typed(), "erase", error).await
        }
        Err(error @ Error::Conflict(_)) => refused(&asked, typed(), "erase", error).await,
        Err(error @ Error::Problems(_)) => refused(&asked, TypedDataForms::default(), "find", error).await,
        Err(error) => Err(error),
    }
}
