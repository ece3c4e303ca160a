//! `/conversations/cnv_…`: the conversation with its timeline, what is known of its customer, and where one answers. The
//! timeline is one instant's. Everything else that can be done here has a file of its own.

use askama::Template;
use axum::response::Response;

use crate::conversation::composer::{Beside, Composer};
use crate::conversation::contact::ContactPanel;
use crate::conversation::doing::Doing;
use crate::conversation::sorting::Sorting;
use crate::conversation::timeline::Timeline;
use crate::conversation::{explain, words};
use crate::inbox::held_list::HeldList;
use crate::inbox::list_column::{self, ListColumn};
use crate::inbox::reading;
use crate::presence;
use crate::respond;
use crate::search::beside;
use crate::shell::Shell;
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::{self, Conversation};
use rookery_core::conversations::read::{self, AppSent};
use rookery_core::conversations::{team, unread};
use rookery_core::workspace::access::TEAM;

#[derive(Template)]
#[template(path = "conversation/show.html")]
struct ConversationPage {
    shell: Shell,
    column: ListColumn,
    conversation: Conversation,
    /// The mail of the app that the customer answered; shown only on the page with the oldest items.
    app_sent: Option<AppSent>,
    timeline: Timeline,
    contact: ContactPanel,
    composer: Composer,
    doing: Doing,
    sorting: Sorting,
}

/// The parts around the timeline, without the timeline itself.
#[derive(Template)]
#[template(path = "conversation/beside.html")]
struct BesidePage {
    shell: Shell,
    column: ListColumn,
    conversation: Conversation,
}

impl ConversationPage {
    fn risk(&self) -> Option<&'static str> {
        self.conversation.risk.as_deref().map(explain::risk)
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id = asked.param("id").unwrap_or_default();
    // A page that stands open and hears of something else does not ask for the conversation again.
    let is_wanted = asked.wants(&format!("conversation:{id}"));
    let is_list_shown = is_wanted || asked.wants("list");
    let held = HeldList::read(&asked);
    let found = beside::load(&asked, is_list_shown, held.as_ref()).await?;
    let mut snapshot = asked.snapshot().await?;
    let now = snapshot.now();
    let conversation = conversation::find_visible(&mut snapshot, &asked.person, now, id).await?;
    if conversation.id.to_string() != id {
        // It became part of another one.
        return Ok(respond::see_other(&format!("/conversations/{}", conversation.id)));
    }
    let column = match found {
        Some(found) => ListColumn::of_search(found),
        None => list_column::load(&mut snapshot, &asked, is_list_shown, held.as_ref()).await?,
    };
    let column = column.beside(conversation.id, held.as_ref());
    let shell = Shell::load(&mut snapshot, &asked, column.here()).await?;
    if !is_wanted {
        return respond::page(&BesidePage { shell, column, conversation });
    }
    let standing = unread::standing(&mut snapshot, &asked.person, &conversation).await?;
    let timeline = Timeline::load(&mut snapshot, &asked, &conversation, standing.seen_to).await?;
    let app_sent = match timeline.earlier {
        None => read::app_sent(&mut snapshot, asked.person.workspace, conversation.id).await?,
        Some(_) => None,
    };
    let contact = ContactPanel::load(&mut snapshot, &asked, &conversation).await?;
    let team = match conversation.audience {
        TEAM => shell.team.clone(),
        _ => team::for_conversation(&mut snapshot, asked.person.workspace, &conversation).await?,
    };
    let beside = Beside { team: &team, onward: column.onward(), has_others: timeline.has_others };
    let composer = Composer::load(&mut snapshot, &asked, &conversation, beside).await?;
    let onward = Some(column.onward());
    let doing =
        Doing::load(&mut snapshot, &asked, &conversation, standing.is_following, team, onward).await?;
    let sorting = Sorting::load(&mut snapshot, &asked, &conversation).await?;
    drop(snapshot);
    let page = ConversationPage {
        shell,
        column,
        conversation,
        app_sent,
        timeline,
        contact,
        composer,
        doing,
        sorting,
    };
    let mut response = respond::page(&page)?;
    if !standing.has_seen(&page.conversation) {
        reading::opened(&asked, &page.conversation, &mut response);
    }
    presence::opened(&asked, &page.conversation);
    Ok(response)
}
