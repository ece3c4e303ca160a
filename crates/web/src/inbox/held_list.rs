//! What a browser says of the list that it shows already when it opens one of its conversations (static/js/list-place.js), so
//! that the list is neither read nor sent again. Only links of the answer depend on it.

use crate::visit::MemberRequest;
use rookery_base::ids::ConversationId;

pub struct HeldList {
    query: String,
    pub previous: Option<ConversationId>,
    pub following: Option<ConversationId>,
}

impl HeldList {
    /// `x-list` is the query of the page, `x-around` has the conversations before and after the opened one, or `-`.
    pub fn read(asked: &MemberRequest) -> Option<Self> {
        let query = asked.header("x-list")?.to_owned();
        let (previous, following) = asked.header("x-around")?.split_once(' ')?;
        Some(Self { query, previous: previous.parse().ok(), following: following.parse().ok() })
    }

    pub fn is_page(held: Option<&Self>, query: &str) -> bool {
        held.is_some_and(|held| held.query == query)
    }
}
