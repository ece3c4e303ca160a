//! `/conversations/{id}/saved-replies` and `/compose/saved-replies`: the saved replies as they would read here. A page of
//! its own without script; with it, the composer's menu takes the list out of the page.

use askama::Template;
use axum::response::Response;

use crate::conversation::timeline::list_of;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::find_visible;
use rookery_core::conversations::secure::words::is_remembered;
use rookery_product::replies::drafts::{self, DraftKind};
use rookery_product::replies::ready;
use rookery_product::replies::recipients::Recipients;
use rookery_product::replies::saved_replies::{self, FilledReply, SavedReply, Values};
use rookery_reading::text;

/// Characters of a reply that the list shows.
const SHOWN: usize = 120;
/// Bytes of formatting in the list, of all replies together.
const MOST_HTML: usize = 1024 * 1024;

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
    /// What the menu puts in. Without it the reply goes through the form.
    filled: Option<FilledReply>,
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
    let here = match &conversation {
        Some(conversation) => format!("/conversations/{}", conversation.id),
        None => "/compose".to_owned(),
    };
    let shell = Shell::load(&mut conn, &asked, Here::Compose).await?;
    drop(conn);
    // Parsing all of it would keep a thread of the runtime.
    let filling = tokio::task::spawn_blocking(move || choices(replies, &values));
    let replies = filling.await.map_err(Error::internal)?;
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

/// Replies with files go through the form, and so does formatting that is too much for the list.
fn choices(replies: Vec<SavedReply>, values: &Values) -> Vec<ReplyChoice> {
    let mut room = MOST_HTML;
    let mut choices = Vec::with_capacity(replies.len());
    for reply in replies {
        let fits = reply.files.is_empty() && reply.html_bytes() <= room;
        let filled = fits.then(|| reply.filled(values));
        let bytes = filled.as_ref().map_or(0, |filled| filled.html.len().max(reply.html_bytes()));
        // With its values it may have become longer.
        let filled = filled.filter(|_| bytes <= room);
        room = room.saturating_sub(bytes);
        let start = match &filled {
            Some(filled) => text::snippet(&filled.text, SHOWN),
            None => text::snippet(&saved_replies::fill(&reply.body, values), SHOWN),
        };
        choices.push(ReplyChoice {
            id: reply.id.to_string(),
            name: reply.name,
            start,
            filled,
            files: reply.files.len() as i64,
        });
    }
    choices
}
