//! `/compose`: a new conversation, from an inbox that the person can see. An address is enough.
//! What its form does is in `conversation/write`.

use askama::Template;
use axum::response::Response;

use crate::conversation::composer::Composer;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;

#[derive(Template)]
#[template(path = "compose/new.html")]
struct NewPage {
    shell: Shell,
    composer: Composer,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut conn = asked.reading().await?;
    let composer = Composer::load_new(&mut conn, &asked).await?;
    let shell = Shell::load(&mut conn, &asked, Here::Compose).await?;
    respond::page(&NewPage { shell, composer })
}
