//! After the mail is in: sorting, reading and drafting, by rules, by what was learned, or by a model that an owner agreed to.
//!
//! A draft of an assistant waits for a person and is never sent. Every call has a budget before it begins and a row after it.
//! What is learned is learned from people's corrections alone.
//!
//! It must never send anything, and never ask a model without the owner's agreement.

pub mod call;
pub mod corrections;
pub mod draft;
pub mod evaluate;
pub mod model;
pub mod read;
pub mod runs;
pub mod scores;
pub mod settings;
pub mod sort;
pub mod spend;
pub mod stop;
pub mod tasks;
