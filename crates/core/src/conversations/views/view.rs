//! What a person asks the list for: one of the views, narrowed to an inbox or to whoever it is assigned to.
//! A view is a filter of the list; the address of a page names it.

use crate::conversations::filter::{Assigned, ConversationCursor, ConversationFilter, View};
use crate::workspace::access::{Actor, MemberId};
use rookery_base::ids::{MailboxId, TagId};

rookery_base::text_enum! {
    /// As addresses have it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum InboxView {
        /// Open and assigned to the person.
        Mine = "mine",
        /// Where a note mentions the person.
        Mentioned = "mentioned",
        #[default]
        Open = "open",
        /// Open and assigned to nobody.
        Unassigned = "unassigned",
        Waiting = "waiting",
        Snoozed = "snoozed",
        Closed = "closed",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

/// A view and what narrows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedView {
    pub view: InboxView,
    pub mailbox: Option<MailboxId>,
    /// Instead of whom the view says.
    pub assignee: Option<MemberId>,
    pub tag: Option<TagId>,
    /// Only what the person has not read.
    pub unread: bool,
    pub order: Order,
}

impl AskedView {
    /// As the list takes it. Where the person is mentioned is another list (mentions.rs).
    pub fn filter(
        &self,
        who: &Actor,
        before: Option<ConversationCursor>,
        limit: i64,
    ) -> Option<ConversationFilter> {
        let (view, assigned) = match self.view {
            InboxView::Open => (View::Open, None),
            InboxView::Mine => (View::Open, Some(Assigned::To(who.member))),
            InboxView::Unassigned => (View::Open, Some(Assigned::ToNobody)),
            InboxView::Waiting => (View::Waiting, None),
            InboxView::Snoozed => (View::Snoozed, None),
            InboxView::Closed => (View::Closed, None),
            InboxView::Mentioned => return None,
        };
        let assigned = self.assignee.map(Assigned::To).or(assigned);
        Some(ConversationFilter {
            view,
            mailbox: self.mailbox,
            assigned,
            reference: None,
            words: None,
            before,
            since: None,
            limit,
        })
    }
}
