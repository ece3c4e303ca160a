//! Texts the team writes often: choosing one while writing, and looking after them.
//! What inboxes sign with stands beside them.

pub mod choose;
pub mod edit;
