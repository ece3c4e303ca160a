//! The pages on which a workspace is run.

mod agents;
mod assistants;
mod audit;
mod auto_reply;
mod data;
mod domains;
mod first_run;
mod fresh;
mod inboxes;
pub mod invitations;
mod keys;
mod passkeys;
mod people;
mod reports;
mod sandbox;
mod second_factor;
mod services;
mod sso;
mod views;
mod webhooks;
