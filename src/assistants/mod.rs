//! Assistants: sorting new mail, reading documents and drafting replies, by rules, by what people corrected, or by a model that an owner agreed
//! to. They work after the mail is in and hold nothing up; what they say stands where no person has spoken.
//!
//! A model is assumed to obey whoever wrote the mail: it is given no tools, no secrets and no other customer's mail, answers
//! in a fixed form that is checked again, and what it writes waits for a person (docs/assistants.md).

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
