//! What a person asks the list for: one of the views, narrowed to an inbox or to whoever it is assigned to.
//! A view is a filter of the list; the address of a page names it.

use crate::conversations::filter::{Assigned, Cursor, Filter, View};
use crate::ids::{MailboxId, TagId};
use crate::workspace::access::{Actor, MemberId};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Name {
    #[default]
    Open,
    /// Open and assigned to the person.
    Mine,
    /// Open and assigned to nobody.
    Unassigned,
    Waiting,
    Snoozed,
    Closed,
    /// Where a note mentions the person.
    Mentioned,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

/// A view and what narrows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub view: Name,
    pub mailbox: Option<MailboxId>,
    /// Instead of whom the view says.
    pub assignee: Option<MemberId>,
    pub tag: Option<TagId>,
    /// Only what the person has not read.
    pub unread: bool,
    pub order: Order,
}

impl Name {
    pub const ALL: [Self; 7] = [
        Self::Mine,
        Self::Mentioned,
        Self::Open,
        Self::Unassigned,
        Self::Waiting,
        Self::Snoozed,
        Self::Closed,
    ];

    /// As addresses have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Mine => "mine",
            Self::Unassigned => "unassigned",
            Self::Waiting => "waiting",
            Self::Snoozed => "snoozed",
            Self::Closed => "closed",
            Self::Mentioned => "mentioned",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }
}

impl Asked {
    /// As the list takes it. Where the person is mentioned is another list (mentions.rs).
    pub fn filter(&self, who: &Actor, before: Option<Cursor>, limit: i64) -> Option<Filter> {
        let (view, assigned) = match self.view {
            Name::Open => (View::Open, None),
            Name::Mine => (View::Open, Some(Assigned::To(who.member))),
            Name::Unassigned => (View::Open, Some(Assigned::ToNobody)),
            Name::Waiting => (View::Waiting, None),
            Name::Snoozed => (View::Snoozed, None),
            Name::Closed => (View::Closed, None),
            Name::Mentioned => return None,
        };
        let assigned = self.assignee.map(Assigned::To).or(assigned);
        Some(Filter { view, mailbox: self.mailbox, assigned, reference: None, words: None, before, limit })
    }
}
