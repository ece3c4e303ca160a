//! Setting a document's fields right, and asking for it to be read again. What a person set is never overwritten by a
//! reading.

use axum::response::Response;

use crate::documents::correct;
use crate::documents::fields::NAMES;
use crate::error::{Error, Result};
use crate::ids::DocumentId;
use crate::web::library::show;
use crate::web::respond;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

/// `POST /documents/{id}`
pub async fn save(asked: Asked) -> Result<Response> {
    let id: DocumentId = asked.id("id")?;
    let form = asked.form().await?;
    let typed: Vec<(&str, String)> =
        NAMES.iter().filter_map(|name| form.get(name).map(|text| (*name, text.to_owned()))).collect();
    let mut tx = asked.tx().await?;
    match correct::correct(&mut tx, &asked.person, asked.person.id, id, &typed).await {
        Ok(_) => {
            tx.commit().await?;
            Ok(respond::see_other_with(&format!("/documents/{id}"), Toast::new(Done::Saved, id)))
        }
        Err(Error::Problems(problems)) => {
            drop(tx);
            show::refused(&asked, &form, problems).await
        }
        Err(error) => Err(error),
    }
}

/// `POST /documents/{id}/read`
pub async fn read_again(asked: Asked) -> Result<Response> {
    let id: DocumentId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    correct::read_again(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("/documents/{id}"), Toast::new(Done::ReadSoon, id)))
}
