//! Who acts and who sees (`workspace`), what happened (`events`), what a rule is (`rules`), and conversations with all that
//! happens to them before anybody answers.
//!
//! A verb is one function and one transaction that changes rows, writes the timeline and records the event. It takes an
//! `Actor`, so visibility is in its type and in every query: a row that the actor may not see is as if it were not there.
//!
//! It must never know how a request came in, or how mail travels.

pub mod conversations;
pub mod events;
pub mod rules;
pub mod workspace;
