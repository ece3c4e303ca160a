//! `/compose`: a new conversation, from an inbox that the person can see. An address is enough.
//! What its form does is in `conversation/write`.

use askama::Template;
use axum::response::Response;

use crate::error::Result;
use crate::web::conversation::composer::Composer;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "compose/new.html")]
struct NewPage {
    shell: Shell,
    composer: Composer,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let mut conn = asked.reading().await?;
    let composer = Composer::load_new(&mut conn, &asked).await?;
    let shell = Shell::load(&mut conn, &asked, Here::Compose).await?;
    respond::page(&NewPage { shell, composer })
}
