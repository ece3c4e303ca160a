//! Replies (specification 4.8, 4.9, 3.3): a draft that waits for a person, or a message that leaves after
//! its undo window; what people do with them, and what stops them.

pub mod agents;
pub mod approve;
pub mod ask_again;
pub mod asking;
pub mod automatic;
pub mod crossing;
pub mod discard;
pub mod draft_end;
pub mod drafts;
pub mod forward;
pub mod leaving;
pub mod merge;
pub mod queue;
pub mod ready;
pub mod recipients;
pub mod revoke_key;
pub mod saved_replies;
pub mod secure;
pub mod send;
pub mod suppress;
pub mod test_mail;
pub mod undo;
pub mod upload;
pub mod write;
