//! Search: conversations by the words of their mail, files by their names.
//! Both show only what the person can see, with what was found marked.

pub mod show;
pub mod typed;
