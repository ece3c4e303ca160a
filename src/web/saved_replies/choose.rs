//! `/conversations/{id}/saved-replies` and `/compose/saved-replies`: the saved replies as they would read here. A page of
//! its own without script; with it, the composer's menu takes the list out of the page.

use askama::Template;
use axum::response::Response;

use crate::conversations::conversation::find_visible;
use crate::conversations::secure::words::is_remembered;
use crate::error::Result;
use crate::replies::drafts::{self, Kind};
use crate::replies::ready;
use crate::replies::recipients::Recipients;
use crate::replies::saved_replies::{self, Values};
use crate::store::db::Handle;
use crate::text;
use crate::web::conversation::timeline::list_of;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

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
    /// Of the draft that it is inserted into, as it is kept.
    draft: String,
    kept: Option<drafts::Draft>,
    /// It goes as a secure link: what is inserted must not make it an ordinary mail.
    secure: bool,
    replies: Vec<Choice>,
}

struct Choice {
    id: String,
    name: String,
    start: String,
    filled: String,
    files: i64,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let person = &asked.person;
    let mut conn = asked.reading().await?;
    let now = conn.now();
    let conversation = match asked.param("id") {
        Some(id) => Some(find_visible(&mut conn, person, now, id).await?),
        None => None,
    };
    let kind = match conversation {
        Some(_) => Kind::of(asked.query("kind").unwrap_or_default()),
        None => Kind::New,
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
        (None, Some(conversation)) if kind == Kind::Reply => {
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
            let filled = saved_replies::fill(&reply.body, &values);
            Choice {
                id: reply.id.to_string(),
                name: reply.name,
                start: text::snippet(&filled, SHOWN),
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
