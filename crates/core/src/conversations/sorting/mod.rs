//! Topic and urgency of a conversation: mail that waits to be sorted (`notes`), and what was said of it by whom (`said`).
//! What a person said stands; whoever sorts writes only where nobody has.

pub mod notes;
pub mod said;
