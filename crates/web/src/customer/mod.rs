//! Pages for customers: no account, no cookie but the one that a proof earns, no script needed, in their own language. A private link is all they have
//! and all they need. What is not there, has ended or went wrong is a page of theirs too, never one of the app.

pub mod answers;
pub mod bookings;
pub mod language;
pub mod secure;
pub mod taking;
pub mod upload;
pub mod words;
