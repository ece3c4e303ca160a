//! Exports: asked for on the page of data, downloaded by whoever asked and has just shown who they are, and ended.
//! That of somebody else is the same 404 as none.

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
use rookery_base::ids::ExportId;
use rookery_base::store::doomed_files;
use rookery_http::files::attached;
use rookery_upkeep::exports::ask;

#[derive(Template)]
#[template(path = "settings/data/export.html")]
struct ExportPage {
    shell: Shell,
    page: &'static str,
    id: ExportId,
}

/// `POST /settings/data/exports`
pub async fn make(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let who = form.get("who").unwrap_or_default().trim().to_owned();
    let contact = (form.get("what") != Some("workspace")).then_some(who.as_str());
    let mut tx = asked.tx().await?;
    let done = match ask::ask(&mut tx, &asked.person, contact).await {
        Ok(_) => tx.commit().await,
        Err(error) => {
            drop(tx);
            Err(error)
        }
    };
    match done {
        Ok(()) => Ok(respond::see_other_with(&format!("{PATH}#export"), Toast::new(Done::ExportBegun, ""))),
        Err(error @ Error::Problems(_)) => {
            refused(&asked, TypedDataForms { export_who: who, ..TypedDataForms::default() }, "export", error)
                .await
        }
        Err(error) => Err(error),
    }
}

/// `GET /settings/data/exports/{id}`: the page behind which it can be downloaded.
pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: ExportId = asked.id("id")?;
    let found = ask::find(&mut *asked.reading().await?, asked.person.workspace, id).await?;
    if found.person != asked.person.id || found.blob.is_none() {
        return Err(Error::Missing("No such export."));
    }
    respond::page(&ExportPage { shell: Shell::frame(&asked, Here::Settings), page: PATH, id })
}

/// `POST /settings/data/exports/{id}/download`
pub async fn download(asked: MemberRequest) -> Result<Response> {
    let id: ExportId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    let blob = ask::take(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    let stored = asked.app().blobs.read(&blob).await?;
    Ok(attached(stored, &format!("export-{id}.zip")))
}

/// `POST /settings/data/exports/{id}/end`
pub async fn end(asked: MemberRequest) -> Result<Response> {
    let id: ExportId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    let blob = ask::end(&mut tx, &asked.person, id).await?;
    doomed_files::doom(&mut tx, blob.as_slice()).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("{PATH}#export"), Toast::new(Done::ExportEnded, "")))
}
