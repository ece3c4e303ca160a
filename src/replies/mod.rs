//! Replies (specification 4.8, 4.9, 3.3): a draft that waits for a person, or a message that leaves after
//! its undo window.

pub mod write;
