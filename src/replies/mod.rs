//! Replies (specification 4.8, 4.9, 3.3): a draft that waits for a person, or a message that leaves after
//! its undo window; what people do with them, and what stops them.

pub mod approve;
pub mod automatic_limit;
pub mod discard;
pub mod remind;
pub mod revoke_key;
pub mod suppress;
pub mod undo;
pub mod write;
