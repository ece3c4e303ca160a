//! The pages on which a workspace is run.

mod agents;
mod domains;
mod inboxes;
mod invitations;
mod keys;
mod people;
mod sandbox;
mod second_factor;
mod webhooks;
