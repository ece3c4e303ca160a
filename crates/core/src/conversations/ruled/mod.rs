//! Rules at work on conversations: `engine` runs them when mail has come or a tag was set, `tagging` is how tags are set so
//! that rules hear of it, `trial` says what a rule would have done.

pub mod engine;
pub mod tagging;
pub mod trial;
