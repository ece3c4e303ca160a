//! What a booking page asks beside name and address: up to five lines of text, as the type's `questions` store them, and
//! what visitors answered.

use serde::{Deserialize, Serialize};

/// The most that a type asks.
pub const MOST_QUESTIONS: usize = 5;
pub const LONGEST_LABEL: usize = 200;
pub const LONGEST_ANSWER: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub label: String,
    #[serde(default)]
    pub required: bool,
}

/// The question stands beside its answer: a type may ask something else later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingAnswer {
    pub question: String,
    pub answer: String,
}
