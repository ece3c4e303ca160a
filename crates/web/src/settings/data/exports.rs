//! Exports: asked for on the page of data, downloaded by whoever asked and has just shown who they are, and ended.
//! That of somebody else is the same 404 as none.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use sqlx::PgConnection;

use crate::respond;
use crate::settings::data::PATH;
use crate::settings::data::show::{TypedDataForms, refused};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::ExportId;
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::hashes::sha256;
use rookery_base::store::doomed_files;
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::people::Person;
use rookery_core::workspace::{second_factor, single_sign_on};
use rookery_http::files::attached;
use rookery_upkeep::exports::ask;

#[derive(Template)]
#[template(path = "settings/data/export.html")]
struct ExportPage {
    shell: Shell,
    page: &'static str,
    id: ExportId,
    /// They have just signed in, so no password is asked for.
    is_fresh: bool,
    has_password: bool,
    /// Why a password is not enough, as the second half of a sentence.
    why_not: &'static str,
    problem: Option<String>,
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
    respond::page(&page(&asked, None).await?)
}

async fn page(asked: &MemberRequest, problem: Option<String>) -> Result<ExportPage> {
    let id: ExportId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let found = ask::find(&mut reading, asked.person.workspace, id).await?;
    if found.person != asked.person.id || found.blob.is_none() {
        return Err(Error::Missing("No such export."));
    }
    let why_not = password_counts(&mut reading, &asked.person).await?.err();
    let shell = Shell::frame(asked, Here::Settings);
    let is_fresh = asked.session.is_fresh(shell.times.now);
    let (has_password, why_not) = (why_not.is_none(), why_not.unwrap_or_default());
    Ok(ExportPage { shell, page: PATH, id, is_fresh, has_password, why_not, problem })
}

/// `POST /settings/data/exports/{id}/download`
pub async fn download(asked: MemberRequest) -> Result<Response> {
    let id: ExportId = asked.id("id")?;
    let form = asked.form().await?;
    if let Err(error) = recognized(&asked, form.get("password").unwrap_or_default()).await {
        return match error {
            error @ (Error::Problems(_) | Error::SlowDown { .. }) => {
                let page = page(&asked, Some(error.sentence())).await?;
                respond::page_with(StatusCode::FORBIDDEN, &page)
            }
            error => Err(error),
        };
    }
    let mut tx = asked.tx().await?;
    let blob = ask::take(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    let stored = asked.app().blobs.read(&blob).await?;
    Ok(attached(stored, &format!("export-{id}.zip")))
}

/// Whether a password is enough to prove who somebody is, or why not. It is not where a password alone cannot sign in
/// either.
async fn password_counts(conn: &mut PgConnection, person: &Person) -> Result<Result<(), &'static str>> {
    if single_sign_on::is_required(conn, person.workspace).await? {
        return Ok(Err("only single sign-on counts here"));
    }
    if second_factor::standing(conn, person.workspace, person.id).await?.since.is_some() {
        return Ok(Err("a password alone isn’t enough with two-step verification"));
    }
    let who = Recognized { workspace: person.workspace, person: person.id };
    Ok(if passwords::has_one(conn, who).await? { Ok(()) } else { Err("you have no password") })
}

/// Asks for the password unless the session has just begun: somebody else may be using an older one.
async fn recognized(asked: &MemberRequest, password: &str) -> Result<()> {
    let app = asked.app();
    let now = app.clock.now();
    if asked.session.is_fresh(now) {
        return Ok(());
    }
    if let Err(why_not) = password_counts(&mut *asked.reading().await?, &asked.person).await? {
        return Err(Error::problem(
            "Password",
            format!("is not asked for: {why_not}. Sign out and in again"),
        ));
    }
    let who = Recognized { workspace: asked.person.workspace, person: asked.person.id };
    let key = [SignInKey::Account(sha256(format!("{} {}", who.workspace, who.person)))];
    app.sign_in_limit.try_one(&key, now)?;
    if password.is_empty() || !passwords::is_of(app, who, password).await? {
        return Err(Error::problem("Password", "is not right"));
    }
    app.sign_in_limit.succeeded(&key, now);
    Ok(())
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
