//! The results of a search beside a conversation that was opened from them: what the query of its address says (`q`, and what
//! narrows it), as `/search` has it. So J and K walk the results, and Esc leads back to them.

use crate::inbox::held_list::HeldList;
use crate::search::show::{self, Hit, SearchRequest};
use crate::search::typed::TypedSearch;
use crate::visit::MemberRequest;
use rookery_base::error::Result;

/// The results at the left of one of them.
pub struct FoundColumn {
    pub asked: SearchRequest,
    pub hits: Vec<Hit>,
    /// The address of the next page of results.
    pub next: Option<String>,
    /// It took too long.
    pub is_stopped: bool,
    /// As in `ListColumn`.
    pub is_shown: bool,
    pub is_held: bool,
}

/// Nothing if the conversation was not opened from a search. Read apart from the conversation, because a search may be given up
/// by the database. Without `is_shown`, or when the browser holds the results, nothing is looked for.
pub async fn load(
    asked: &MemberRequest,
    is_shown: bool,
    held: Option<&HeldList>,
) -> Result<Option<FoundColumn>> {
    if asked.queries().get("q").is_none_or(|q| q.trim().is_empty()) {
        return Ok(None);
    }
    let mut reading = asked.reading().await?;
    let wanted = SearchRequest::read(&mut reading, asked, asked.queries()).await?;
    if wanted.files {
        return Ok(None);
    }
    let is_held = HeldList::is_page(held, &wanted.query());
    let is_shown = is_shown && !is_held;
    let mut column =
        FoundColumn { asked: wanted, hits: Vec::new(), next: None, is_stopped: false, is_shown, is_held };
    if !is_shown {
        return Ok(Some(column));
    }
    if let TypedSearch::Words(mut typed) = TypedSearch::read(&mut reading, asked, &column.asked.q).await? {
        match show::find(&mut reading, asked, &column.asked, &mut typed).await {
            Ok((hits, next)) => {
                column.next = next.map(|place| column.asked.next(&place));
                column.hits = hits;
            }
            Err(error) if error.may_pass() && !error.is_outage() => column.is_stopped = true,
            Err(error) => return Err(error),
        }
    }
    Ok(Some(column))
}
