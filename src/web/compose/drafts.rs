//! `/drafts`: what this person has begun and not sent, newest first. Nobody else sees it, and what belongs to a
//! conversation that they cannot see any more is left out.

use askama::Template;
use axum::response::Response;

use crate::error::Result;
use crate::replies::drafts::Kind;
use crate::replies::drafts::list::{self, Unsent};
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "compose/drafts.html")]
struct DraftsPage {
    shell: Shell,
    unsent: Vec<Unsent>,
}

impl DraftsPage {
    fn path(&self, draft: &Unsent) -> String {
        match draft.conversation {
            Some(id) => format!("/conversations/{id}?compose={}#composer", draft.kind.as_str()),
            None => format!("/compose?draft={}", draft.id),
        }
    }

    fn kind(&self, draft: &Unsent) -> &'static str {
        match draft.kind {
            Kind::Reply => "Reply",
            Kind::Note => "Note",
            Kind::Forward => "Forward",
            Kind::New => "New",
        }
    }

    fn icon(&self, draft: &Unsent) -> &'static str {
        match draft.kind {
            Kind::Reply => "reply",
            Kind::Note => "lock",
            Kind::Forward => "forward",
            Kind::New => "mail",
        }
    }
}

pub async fn show(asked: Asked) -> Result<Response> {
    let mut conn = asked.reading().await?;
    let unsent = list::unsent(&mut conn, &asked.person).await?;
    let shell = Shell::load(&mut conn, &asked, Here::Drafts).await?;
    respond::page(&DraftsPage { shell, unsent })
}
