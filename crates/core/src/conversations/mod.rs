//! Conversations: finding, listing, searching and reading them, and whose turn it is (specification 2.3,
//! 2.4, 3.1, 3.2). A `Conversation` can only be had through a query that knows who is asking.

pub mod assign;
pub mod bulk;
pub mod contacts;
pub mod conversation;
pub mod counts;
pub mod earlier;
pub mod filter;
pub mod inboxes;
pub mod keeping;
pub mod list;
pub mod lock;
pub mod mentions;
pub mod merge;
pub mod messages;
pub mod notes;
pub mod notifications;
pub mod read;
pub mod release_held;
pub mod reports;
pub mod ruled;
pub mod search;
pub mod secure;
pub mod snooze;
pub mod sorting;
pub mod start;
pub mod status;
pub mod tags;
pub mod team;
pub mod timeline;
pub mod transitions;
pub mod unread;
pub mod views;
