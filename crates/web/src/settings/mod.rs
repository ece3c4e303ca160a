//! `/settings`: the first page, and a person's own.
//! What concerns the whole workspace is for owners and admins.

pub mod agents;
pub mod assistants;
pub mod audit;
pub mod auto_reply;
pub mod away;
pub mod bookings;
pub mod data;
pub mod device;
pub mod domains;
pub mod health;
pub mod home;
pub mod inboxes;
pub mod keys;
pub mod passkeys;
pub mod password;
pub mod people;
pub mod period;
pub mod profile;
pub mod rules;
pub mod sandbox;
pub mod second_factor;
pub mod sections;
pub mod services;
pub mod sessions;
pub mod sign_in;
pub mod signature;
pub mod views;
pub mod webhooks;
