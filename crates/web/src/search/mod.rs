//! Search: conversations by the words of their mail, files by their names.
//! Both show only what the person can see, with what was found marked. `beside` is the results at the left of one that is open.

pub mod beside;
pub mod show;
pub mod typed;
