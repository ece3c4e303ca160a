//! Mail of the service's own: reminders of documents and automatic replies.
//! `limit` keeps both from being many.

pub mod answer;
pub mod limit;
pub mod remind;
