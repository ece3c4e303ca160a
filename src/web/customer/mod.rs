//! Pages for customers: no account, no cookie, no script needed, in their own language. A private link is all they have
//! and all they need. What is not there, has ended or went wrong is a page of theirs too, never one of the app.

pub mod answers;
pub mod language;
pub mod taking;
pub mod upload;
pub mod words;
