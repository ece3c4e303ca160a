//! Changes of one conversation or of many from the app: what a form asks for, the page of a job, stopping it and taking it
//! back.

pub mod asked_action;
pub mod job;
pub mod start;
