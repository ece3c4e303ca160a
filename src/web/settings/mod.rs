//! `/settings`: the first page, and a person's own.
//! What concerns the whole workspace is for owners and admins.

pub mod agents;
pub mod device;
pub mod domains;
pub mod home;
pub mod inboxes;
pub mod keys;
pub mod password;
pub mod people;
pub mod profile;
pub mod sandbox;
pub mod second_factor;
pub mod sections;
pub mod sessions;
pub mod webhooks;
