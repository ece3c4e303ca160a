//! `/drafts`: what this person has begun and not sent, newest first. Nobody else sees it, and what belongs to a
//! conversation that they cannot see any more is left out.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_product::replies::drafts::DraftKind;
use rookery_product::replies::drafts::list::{self, Unsent};

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
            DraftKind::Reply => "Reply",
            DraftKind::Note => "Note",
            DraftKind::Forward => "Forward",
            DraftKind::New => "New",
        }
    }

    fn icon(&self, draft: &Unsent) -> &'static str {
        match draft.kind {
            DraftKind::Reply => "reply",
            DraftKind::Note => "lock",
            DraftKind::Forward => "forward",
            DraftKind::New => "mail",
        }
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut conn = asked.reading().await?;
    let unsent = list::unsent(&mut conn, &asked.person).await?;
    let shell = Shell::load(&mut conn, &asked, Here::Drafts).await?;
    respond::page(&DraftsPage { shell, unsent })
}
