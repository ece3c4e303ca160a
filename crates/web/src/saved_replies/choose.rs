//! `/conversations/{id}/saved-replies` and `/compose/saved-replies`: the saved replies as they would read here. A page of
//! its own without script; with it, the composer's menu takes the list out of the page.

use askama::Template;
use axum::response::Response;

use crate::conversation::timeline::list_of;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::find_visible;
use rookery_core::conversations::secure::words::is_remembered;
use rookery_product::replies::drafts::{self, DraftKind};
use rookery_product::replies::ready;
use rookery_product::replies::recipients::Recipients;
use rookery_product::replies::saved_replies::{self, FilledReply, Values};
use rookery_reading::text;

/// Characters of a reply that the list shows.
const SHOWN: usize = 120;

#[derive(Template)]
#[template(path = "saved_replies/choose.html")]
struct ChoosePage {
    shell: Shell,
    action: String,
    back: String,
    /// The list beside the conversation.
    list: String,
    kind: &'static str,
    /// The draft that a reply is inserted into.
    draft: String,
    kept: Option<drafts::Draft>,
    /// Whether the draft goes as a secure link, which inserting a reply must not change.
    secure: bool,
    replies: Vec<ReplyChoice>,
}

struct ReplyChoice {
    id: String,
    name: String,
    start: String,
    filled: FilledReply,
    files: i64,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let person = &asked.person;
    let mut conn = asked.reading().await?;
    let now = conn.now();
    let conversation = match asked.param("id") {
        Some(id) => Some(find_visible(&mut conn, person, now, id).await?),
        None => None,
    };
    let kind = match conversation {
        Some(_) => DraftKind::from_form(asked.query("kind").unwrap_or_default()),
        None => DraftKind::New,
    };
    let draft = asked.query("draft").unwrap_or_default().to_owned();
    let kept = match draft.parse() {
        Ok(id) => {
            let keys = conn.frame().keys.clone();
            drafts::read(&mut conn, keys.as_deref(), person, id).await?
        }
        Err(_) => None,
    };
    let secure = match (&kept, &conversation) {
        (Some(kept), _) => kept.words.secure,
        (None, Some(conversation)) if kind == DraftKind::Reply => {
            is_remembered(&mut conn, person.workspace, conversation).await?
        }
        (None, _) => false,
    };
    let values = match &conversation {
        Some(conversation) => {
            ready::values(person, Some(conversation), &conversation.mailbox(), &Recipients::default())
        }
        None => Values { agent_name: person.name.clone(), ..Values::default() },
    };
    let replies = saved_replies::list(&mut conn, person.workspace).await?;
    let replies = replies
        .into_iter()
        .map(|reply| {
            let filled = reply.filled(&values);
            ReplyChoice {
                id: reply.id.to_string(),
                name: reply.name,
                start: text::snippet(&filled.text, SHOWN),
                filled,
                files: reply.files.len() as i64,
            }
        })
        .collect();
    let here = match &conversation {
        Some(conversation) => format!("/conversations/{}", conversation.id),
        None => "/compose".to_owned(),
    };
    let shell = Shell::load(&mut conn, &asked, Here::Compose).await?;
    respond::page(&ChoosePage {
        shell,
        action: if conversation.is_some() { format!("{here}/write") } else { here.clone() },
        back: match conversation {
            Some(_) => format!("{here}?{}compose={}#composer", list_of(&asked), kind.as_str()),
            None => format!("{here}?draft={draft}"),
        },
        list: list_of(&asked),
        kind: kind.as_str(),
        draft,
        kept,
        secure,
        replies,
    })
}
