//! Setting a document's fields right, and asking for it to be read again. What a person set is never overwritten by a
//! reading.

use axum::response::Response;

use crate::library::show;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::DocumentId;
use rookery_product::documents::correct;
use rookery_product::documents::fields::NAMES;

/// `POST /documents/{id}`
pub async fn save(asked: MemberRequest) -> Result<Response> {
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
pub async fn read_again(asked: MemberRequest) -> Result<Response> {
    let id: DocumentId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    correct::read_again(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("/documents/{id}"), Toast::new(Done::ReadSoon, id)))
}
