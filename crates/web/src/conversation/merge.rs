//! `/conversations/cnv_…/merge`: choosing the conversation to merge with, then both side by side, what keeps them apart if
//! anything does, and which of the two stays. It cannot be undone, and says so.

use askama::Template;
use axum::response::Response;
use sqlx::PgConnection;

use crate::respond;
use crate::search::typed::TypedSearch;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::status;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::ConversationId;
use rookery_base::store::db::{Handle, Reading};
use rookery_core::conversations::conversation::{Conversation, find_visible};
use rookery_core::conversations::filter::{ConversationFilter, View};
use rookery_core::conversations::merge::{self as merging, Candidate};
use rookery_core::conversations::status::Status;
use rookery_core::conversations::views::{rows, tagged};
use rookery_product::replies::merge;

const MOST: i64 = 20;

#[derive(Template)]
#[template(path = "conversation/merge.html")]
struct MergePage {
    shell: Shell,
    conversation: Conversation,
    /// What was searched for.
    q: String,
    found: Vec<Candidate>,
    chosen: Option<Chosen>,
}

impl MergePage {
    fn status_name(&self, status: &Status) -> &'static str {
        status::name(*status, false)
    }
}

/// The conversation to merge with, and which of the two stays.
struct Chosen {
    kept: Conversation,
    gone: Conversation,
    obstacle: Option<String>,
    /// The address of this page with the two exchanged.
    swapped: String,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let now = reading.now();
    let own = asked.param("id").unwrap_or_default();
    let conversation = find_visible(&mut reading, &asked.person, now, own).await?;
    let q = asked.query("q").unwrap_or_default().trim().to_owned();
    let with = asked.query("with").filter(|with| !with.is_empty()).map(str::to_owned);
    let chosen = match with.or_else(|| named_in(&q)) {
        Some(with) => Some(choose(&mut reading, &asked, &conversation, &with).await?),
        None => None,
    };
    let found = match chosen {
        Some(_) => Vec::new(),
        None => find(&mut reading, &asked, &conversation, &q).await?,
    };
    let shell = Shell::load(&mut reading, &asked, Here::View("open")).await?;
    respond::page(&MergePage { shell, conversation, q, found, chosen })
}

async fn choose(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    conversation: &Conversation,
    with: &str,
) -> Result<Chosen> {
    let now = asked.app().clock.now();
    let other = find_visible(conn, &asked.person, now, with).await?;
    let keeps_other = asked.query("keep") == Some("other");
    let (kept, gone) =
        if keeps_other { (other, conversation.clone()) } else { (conversation.clone(), other) };
    let obstacle = merge::obstacle(conn, asked.person.workspace, &kept, &gone).await?;
    let keep = if keeps_other { "this" } else { "other" };
    let other = if keeps_other { kept.id } else { gone.id };
    let swapped = format!("/conversations/{}/merge?with={other}&keep={keep}", conversation.id);
    Ok(Chosen { kept, gone, obstacle: obstacle.map(|obstacle| obstacle.to_string()), swapped })
}

/// Conversations to choose from: those that match the search, else others of the same contact. All have the same audience.
async fn find(
    reading: &mut Reading,
    asked: &MemberRequest,
    conversation: &Conversation,
    q: &str,
) -> Result<Vec<Candidate>> {
    let (now, workspace) = (asked.app().clock.now(), asked.person.workspace);
    let found: Vec<i64> = match TypedSearch::read(reading, asked, q).await? {
        TypedSearch::Nothing => merging::of_contact(reading, workspace, conversation, MOST).await?,
        TypedSearch::TooLong | TypedSearch::NoWord | TypedSearch::Mistake(_) => Vec::new(),
        TypedSearch::Words(mut words) => {
            let filter = ConversationFilter {
                view: View::All,
                mailbox: None,
                assigned: None,
                reference: None,
                words: None,
                before: words.place,
                since: words.since,
                limit: MOST,
            };
            match words.narrow(reading, asked, filter, None).await? {
                None => Vec::new(),
                Some(filter) if words.narrowing.tags.is_empty() => {
                    rows::all(reading, &asked.person, now, &filter).await?
                }
                Some(filter) => {
                    tagged::page_of(reading, &asked.person, now, &filter, &words.narrowing.tags).await?.0
                }
            }
        }
    };
    merging::candidates(reading, workspace, conversation, &found).await
}

/// A conversation's id, alone or at the end of its address.
fn named_in(q: &str) -> Option<String> {
    let last = q.rsplit('/').next()?.split(['?', '#']).next()?;
    last.parse::<ConversationId>().ok().map(|id| id.to_string())
}

pub async fn merge_them(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let own: ConversationId = asked.id("id")?;
    let other = form.text("with")?.parse().map_err(|_| Error::problem("with", "is no conversation"))?;
    let (kept, gone) = if form.get("keep") == Some("other") { (other, own) } else { (own, other) };
    let mut tx = asked.tx().await?;
    let kept = merge::merge(&mut tx, &asked.person, kept, gone).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&format!("/conversations/{kept}"), Toast::new(Done::Merged, kept)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_named_by_its_id_or_its_address() {
        let id = ConversationId(7).to_string();
        for q in [id.clone(), format!("https://mail.example/conversations/{id}?view=open#msg")] {
            assert_eq!(named_in(&q), Some(id.clone()));
        }
        assert_eq!(named_in("an invoice"), None);
    }
}
