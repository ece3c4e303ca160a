//! Mail of the service's own: reminders of documents, automatic replies and those of people who are away.
//! `limit` keeps all of it from being much.

pub mod answer;
pub mod away;
pub mod limit;
pub mod remind;
