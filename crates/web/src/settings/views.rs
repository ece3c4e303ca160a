//! `/settings/views`: a person's own views. A list or a search is saved from its own page; here it gets another name or
//! place, or goes. A view is kept as the page reads its address, so nothing else of an address is kept.

use askama::Template;
use axum::response::Response;

use crate::inbox::list_column;
use crate::respond;
use crate::search::show::SearchRequest;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::ids::SavedViewId;
use rookery_core::conversations::views::saved::{self, LONGEST_NAME, MOST, Saved, SavedViewKind};

const PATH: &str = "/settings/views";

#[derive(Template)]
#[template(path = "settings/views/list.html")]
struct ViewsPage {
    shell: Shell,
    page: &'static str,
    views: Vec<Saved>,
    most: usize,
    longest: usize,
}

#[derive(Template)]
#[template(path = "settings/views/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    view: Saved,
}

pub async fn list(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let views = saved::list(&mut reading, &asked.person).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&ViewsPage { shell, page: PATH, views, most: MOST, longest: LONGEST_NAME })
}

/// Saves the list or the search that the form was on.
pub async fn save(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let fields = FormFields::of_query(form.text("query")?);
    let mut tx = asked.tx().await?;
    let (kind, query) = match form.get("kind") {
        Some("list") => {
            let (wanted, ..) = list_column::wanted(&mut tx, &asked, &fields).await?;
            (SavedViewKind::List, list_column::query(&wanted, None))
        }
        Some("search") => {
            (SavedViewKind::Search, SearchRequest::read(&mut tx, &asked, &fields).await?.saved())
        }
        _ => return Err(NO_ENDPOINT),
    };
    let id = saved::save(&mut tx, &asked.person, form.text("name")?, kind, &query).await?;
    let view = saved::find(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&view.path(), Toast::new(Done::ViewSaved, "")))
}

/// Another name, or another place.
pub async fn change(asked: MemberRequest) -> Result<Response> {
    let id: SavedViewId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let done = match form.get("do") {
        Some("up") => saved::shift(&mut tx, &asked.person, id, true).await.map(|()| None),
        Some("down") => saved::shift(&mut tx, &asked.person, id, false).await.map(|()| None),
        Some("rename") => {
            saved::rename(&mut tx, &asked.person, id, form.text("name")?).await.map(|()| Some(Done::Saved))
        }
        _ => Err(Error::problem("do", "must be up, down or rename")),
    }?;
    tx.commit().await?;
    let here = format!("{PATH}#{id}");
    Ok(match done {
        Some(done) => respond::see_other_with(&here, Toast::new(done, "")),
        None => respond::see_other(&here),
    })
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: SavedViewId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let view = saved::find(&mut reading, &asked.person, id).await?;
    respond::page(&RemovePage { shell: Shell::frame(&asked, Here::Settings), page: PATH, view })
}

pub async fn remove(asked: MemberRequest) -> Result<Response> {
    let id: SavedViewId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    saved::remove(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::ViewGone, "")))
}
