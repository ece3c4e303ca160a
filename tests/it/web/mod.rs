//! The app's pages over real HTTP: one file a page. What needs a real browser is in tests/web.

pub mod approvals;
mod beside;
mod bulk;
mod conversation;
mod doing;
mod formatting;
mod frame;
mod inbox;
mod leaving;
mod library;
mod live;
mod notices;
mod outgoing;
mod profile;
mod roles;
mod search;
pub mod settings;
pub mod sign_in;
mod sign_in_attacks;
mod taking;
pub mod writing;
mod writing_attacks;
mod writing_ways;
