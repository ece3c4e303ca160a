//! `/settings/saved-replies`: the saved replies of the team, which everybody may change, and what inboxes sign with:
//! owners and admins change those of the team, everybody that of their own inbox.

use askama::Template;
use axum::response::Response;
use sqlx::PgConnection;

use crate::conversation::receive::receive;
use crate::respond::{self, see_other, see_other_with};
use crate::settings::signature;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{DraftFileId, SavedReplyId};
use rookery_core::workspace::signatures::{self, Signed};
use rookery_product::replies::saved_replies::{self, SavedReply};

const HERE: &str = "/settings/saved-replies";

#[derive(Template)]
#[template(path = "saved_replies/edit.html")]
struct EditPage {
    shell: Shell,
    /// Which page of the settings it is.
    page: &'static str,
    replies: Vec<SavedReply>,
    signed: Vec<Signed>,
    /// The one that is being changed, or a new one.
    editing: Option<Editing>,
    variables: &'static [(&'static str, &'static str)],
}

struct Editing {
    id: String,
    name: String,
    body: String,
    /// The text with its formatting, empty if it has none.
    html: String,
    files: Vec<(String, String, i64)>,
    problems: Vec<Problem>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut conn = asked.reading().await?;
    let editing = match (asked.query("edit"), asked.query("new")) {
        (Some(id), _) => {
            let id: SavedReplyId = id.parse().map_err(|_| Error::Missing("No such saved reply."))?;
            let reply = saved_replies::find(&mut conn, asked.person.workspace, id).await?;
            Some(Editing {
                id: reply.id.to_string(),
                html: reply.formatting().to_owned(),
                name: reply.name,
                body: reply.body,
                files: reply
                    .files
                    .into_iter()
                    .map(|(id, file)| (id.to_string(), file.filename, file.size))
                    .collect(),
                problems: Vec::new(),
            })
        }
        (None, Some(_)) => Some(Editing {
            id: String::new(),
            name: String::new(),
            body: String::new(),
            html: String::new(),
            files: Vec::new(),
            problems: Vec::new(),
        }),
        (None, None) => None,
    };
    page(&mut conn, &asked, editing).await
}

async fn page(conn: &mut PgConnection, asked: &MemberRequest, editing: Option<Editing>) -> Result<Response> {
    let replies = saved_replies::list(conn, asked.person.workspace).await?;
    let signed = signatures::list(conn, &asked.person).await?;
    let shell = Shell::frame(asked, Here::Settings);
    respond::page(&EditPage {
        shell,
        page: "/settings/saved-replies",
        replies,
        signed,
        editing,
        variables: saved_replies::VARIABLES,
    })
}

/// Saves one, takes one of its files out, or removes it.
pub async fn put(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let id: Option<SavedReplyId> = form.parse("id")?;
    let formatted = form.formatted().await?;
    let mut tx = asked.tx().await?;
    if let (Some(id), Some("remove")) = (id, form.get("do")) {
        saved_replies::remove(&mut tx, id).await?;
        tx.commit().await?;
        return Ok(see_other_with(HERE, Toast::new(Done::SavedReplyGone, "")));
    }
    let (name, typed) = (form.text("name")?, form.text("body")?);
    let is_kept = formatted.is_some();
    let formatted = formatted.unwrap_or_default();
    let body = formatted.words.as_deref().unwrap_or(typed);
    let put = if is_kept {
        saved_replies::put(&mut tx, &asked.person, id, name, body, &formatted.html).await
    } else {
        Err(Error::problem("body", saved_replies::TOO_FORMATTED))
    };
    let kept = match put {
        Ok(kept) => kept,
        Err(Error::Problems(problems)) => {
            drop(tx);
            let editing = Editing {
                id: id.map(|id| id.to_string()).unwrap_or_default(),
                name: name.to_owned(),
                body: body.to_owned(),
                html: formatted.html,
                files: Vec::new(),
                problems,
            };
            let mut conn = asked.reading().await?;
            return page(&mut conn, &asked, Some(editing)).await;
        }
        Err(other) => return Err(other),
    };
    let taken_out: Option<DraftFileId> = form.parse("drop")?;
    if let Some(file) = taken_out {
        saved_replies::detach(&mut tx, kept, file).await?;
    }
    tx.commit().await?;
    match taken_out {
        Some(_) => Ok(see_other(&format!("{HERE}?edit={kept}#edit"))),
        None => Ok(see_other_with(HERE, Toast::new(Done::Saved, kept))),
    }
}

/// Files that go with a saved reply.
pub async fn attach(asked: MemberRequest) -> Result<Response> {
    let id: SavedReplyId = asked.id("id")?;
    let mut conn = asked.reading().await?;
    saved_replies::find(&mut conn, asked.person.workspace, id).await?;
    drop(conn);
    let (_, files) = receive(&asked).await?;
    let named = async {
        let mut tx = asked.tx().await?;
        for file in &files {
            saved_replies::attach(&mut tx, id, file).await?;
        }
        tx.commit().await
    };
    if let Err(error) = named.await {
        if !error.is_uncertain() {
            let blobs: Vec<String> = files.into_iter().map(|file| file.blob).collect();
            asked.app().blobs.discard(&blobs).await;
        }
        return Err(error);
    }
    Ok(see_other(&format!("{HERE}?edit={id}#edit")))
}

/// What an inbox signs with.
pub async fn sign(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    form.text("signature")?;
    let mut tx = asked.tx().await?;
    let inbox = signature::inbox(&asked, &mut tx).await?;
    signatures::set(&mut tx, &asked.person, inbox, signature::typed(&form)).await?;
    tx.commit().await?;
    Ok(see_other_with(&format!("{HERE}#signatures"), Toast::new(Done::Saved, inbox)))
}
