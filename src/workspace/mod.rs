//! WHO: workspaces, people, inboxes, API keys and the agents they act as, and what each may see
//! (specification 5).

pub mod access;
pub mod found;
pub mod keys;
pub mod mailboxes;
pub mod notices;
pub mod people;
pub mod plan;
pub mod swept;
