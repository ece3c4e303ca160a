//! `/conversations/cnv_…/documents`: what the reply that somebody is writing asks the customer for, a row for each document; when
//! it is due, in which language, and the team's saved lists. It is a dialog over the conversation, and without script a page of
//! its own whose buttons answer with the same page.

mod rows;

use askama::Template;
use axum::response::Response;
use sqlx::PgConnection;

use crate::conversation::asking::rows::TypedRequest;
use crate::conversation::timeline::list_of;
use crate::inbox::reading::list_in;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentListId};
use rookery_base::languages::Language;
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::{Conversation, find_visible};
use rookery_product::documents::lists::{self, DocumentList};
use rookery_product::documents::request::language_of;
use rookery_product::replies::asking::{LONGEST_DESCRIPTION, LONGEST_LABEL, MOST_DOCUMENTS};
use rookery_product::replies::drafts::{self, DraftKind, documents};

#[derive(Template)]
#[template(path = "conversation/documents.html")]
struct DocumentsPage {
    shell: Shell,
    conversation: Conversation,
    /// The query of the list beside the conversation (`view=mine&`).
    list: String,
    typed: TypedRequest,
    saved: Vec<DocumentList>,
    /// Their codes, what their speakers call them, and whether it is the chosen one.
    languages: Vec<(&'static str, &'static str, bool)>,
    /// The customer was not asked in any yet, so that none may be chosen.
    is_unknown: bool,
    longest_name: usize,
    longest_hint: usize,
    longest_list: usize,
    /// What a button of the form did.
    notice: Option<String>,
    problems: Vec<String>,
}

/// What pressing a button came to, before the page is shown again.
#[derive(Default)]
struct Pressed {
    notice: Option<String>,
    problems: Vec<String>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut conn = asked.reading().await?;
    let now = conn.now();
    let id = asked.param("id").unwrap_or_default();
    let conversation = find_visible(&mut conn, &asked.person, now, id).await?;
    let keys = conn.frame().keys.clone();
    let draft =
        drafts::of_conversation(&mut conn, keys.as_deref(), &asked.person, &conversation, DraftKind::Reply);
    let Some(draft) = draft.await? else {
        return Ok(respond::see_other(&composer(conversation.id, list_of(&asked).trim_end_matches('&'))));
    };
    let typed = TypedRequest::from_lines(&draft.words.documents, draft.words.language);
    let list = list_of(&asked);
    page(&mut conn, &asked, conversation, list, typed, Pressed::default()).await
}

async fn page(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    conversation: Conversation,
    list: String,
    mut typed: TypedRequest,
    pressed: Pressed,
) -> Result<Response> {
    let known = language_of(conn, asked.person.workspace, &conversation).await?;
    typed.language = typed.language.or(known);
    let saved = lists::list(conn, asked.person.workspace).await?;
    let shell = Shell::load(conn, asked, Here::View("open")).await?;
    let Pressed { notice, problems } = pressed;
    let each = Language::ALL.into_iter().map(|one| (one.code(), one.name(), Some(one) == typed.language));
    respond::page(&DocumentsPage {
        shell,
        conversation,
        list,
        saved,
        languages: each.collect(),
        is_unknown: known.is_none(),
        longest_name: LONGEST_LABEL,
        longest_hint: LONGEST_DESCRIPTION,
        longest_list: lists::LONGEST_NAME,
        typed,
        notice,
        problems,
    })
}

/// The buttons of the form. One puts the documents into the reply; the others answer with the form as it is then.
pub async fn act(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let mut typed = TypedRequest::read(&form);
    let mut pressed = Pressed::default();
    if let Some(row) = form.get("remove").and_then(|row| row.parse().ok()) {
        typed.take_out(row);
    } else {
        match form.get("do") {
            Some("ask") => match typed.problem() {
                None => return ask(&asked, &form, &typed).await,
                Some(problem) => pressed.problems.push(problem),
            },
            Some("fill" | "delete" | "save") => pressed = of_lists(&asked, &form, &mut typed).await?,
            Some("next") => typed.next_row(),
            _ => typed.add_row(),
        }
    }
    let mut conn = asked.reading().await?;
    let now = conn.now();
    let id = asked.param("id").unwrap_or_default();
    let conversation = find_visible(&mut conn, &asked.person, now, id).await?;
    let list = match list_in(&form) {
        "" => String::new(),
        list => format!("{list}&"),
    };
    page(&mut conn, &asked, conversation, list, typed, pressed).await
}

async fn ask(asked: &MemberRequest, form: &FormFields, typed: &TypedRequest) -> Result<Response> {
    let mut tx = asked.tx().await?;
    let now = tx.now();
    let id = asked.param("id").unwrap_or_default();
    let conversation = find_visible(&mut tx, &asked.person, now, id).await?;
    let id = conversation.id;
    let lines = typed.lines();
    let language = typed.language.filter(|_| !lines.is_empty());
    documents::ask(&mut tx, &asked.person, &conversation, &lines, language).await?;
    tx.commit().await?;
    Ok(respond::see_other(&composer(id, list_in(form))))
}

/// Fills the rows from a saved list, deletes one, or saves the rows as one.
async fn of_lists(asked: &MemberRequest, form: &FormFields, typed: &mut TypedRequest) -> Result<Pressed> {
    let mut pressed = Pressed::default();
    let mut tx = asked.tx().await?;
    let now = tx.now();
    // Nothing is changed for who cannot see the conversation.
    find_visible(&mut tx, &asked.person, now, asked.param("id").unwrap_or_default()).await?;
    if form.get("do") == Some("save") {
        if let Some(problem) = typed.problem() {
            pressed.problems.push(problem);
            return Ok(pressed);
        }
        match lists::save(&mut tx, &asked.person, &typed.list_name, &typed.items()).await {
            Ok(replaced) => {
                let done = if replaced { "replaced" } else { "saved" };
                pressed.notice = Some(format!("List “{}” {done}.", typed.list_name));
            }
            Err(Error::Problems(problems)) => {
                pressed.problems.extend(problems.into_iter().map(|one| match one.field.as_str() {
                    "name" => format!("The list name {}.", one.what),
                    _ => one.what,
                }));
            }
            Err(other) => return Err(other),
        }
    } else {
        let chosen: Option<DocumentListId> = form.parse("saved")?;
        let all = lists::list(&mut tx, asked.person.workspace).await?;
        match all.into_iter().find(|list| Some(list.id) == chosen) {
            Some(list) => {
                if form.get("do") == Some("delete") {
                    lists::remove(&mut tx, list.id).await?;
                    let said = format!(
                        "List “{}” deleted. Its documents are still below, so you can save them again.",
                        list.name
                    );
                    pressed.notice = Some(said);
                }
                if !typed.fill(list) {
                    pressed
                        .problems
                        .push(format!("You can ask for up to {MOST_DOCUMENTS} documents at a time."));
                }
            }
            None => pressed.problems.push("Select a saved list first.".to_owned()),
        }
    }
    tx.commit().await?;
    Ok(pressed)
}

/// The reply that asks, beside the same list.
fn composer(id: ConversationId, list: &str) -> String {
    let beside = if list.is_empty() { "" } else { "&" };
    format!("/conversations/{id}?{list}{beside}compose=reply#composer")
}
