//! What people do about agents as a whole: stop all of them, start them again, and see what became of what they wrote.
//! What an agent does itself stands with the verbs.

pub mod activity;
pub mod day;
pub mod stop;
