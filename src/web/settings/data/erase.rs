//! `POST /settings/data/erase`: begins to erase a contact, when the address was typed once more.
//! A hold answers with 409.

use axum::response::Response;

use crate::erasures::ask;
use crate::error::{Error, Result};
use crate::web::respond;
use crate::web::settings::data::PATH;
use crate::web::settings::data::show::{Typed, refused};
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

pub async fn erase(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let (address, confirm) = (form.text("address")?.trim(), form.text("confirm")?.trim());
    let done = match confirm.to_lowercase() == address.to_lowercase() {
        false => Err(Error::Problems(vec![])),
        true => {
            let mut tx = asked.tx().await?;
            match ask::erase(&mut tx, &asked.person, address, form.get("why").unwrap_or_default()).await {
                Ok(_) => tx.commit().await,
                Err(error) => {
                    drop(tx);
                    Err(error)
                }
            }
        }
    };
    let typed = || Typed { who: address.to_owned(), ..Typed::default() };
    match done {
        Ok(()) => {
            Ok(respond::see_other_with(&format!("{PATH}#erasures"), Toast::new(Done::ErasureBegun, "")))
        }
        Err(Error::Problems(all)) if all.is_empty() => {
            let error = Error::problem("confirm", "is not the address above. Nothing was erased");
            refused(&asked, typed(), "erase", error).await
        }
        Err(error @ Error::Conflict(_)) => refused(&asked, typed(), "erase", error).await,
        Err(error @ Error::Problems(_)) => refused(&asked, Typed::default(), "find", error).await,
        Err(error) => Err(error),
    }
}
