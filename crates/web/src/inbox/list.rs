//! `/inbox`: the conversations of a view, and an empty pane beside them.
//! A view that is not there, and an inbox that the person cannot see, are the same 404.

use askama::Template;
use axum::response::Response;

use crate::inbox::list_column::{self, ListColumn};
use crate::respond;
use crate::shell::Shell;
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;

#[derive(Template)]
#[template(path = "inbox/list.html")]
struct ListPage {
    shell: Shell,
    column: ListColumn,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let column = list_column::load(&mut reading, &asked, asked.wants("list"), None).await?;
    let shell = Shell::load(&mut reading, &asked, column.here()).await?;
    respond::page(&ListPage { shell, column })
}
