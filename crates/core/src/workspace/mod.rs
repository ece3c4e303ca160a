//! Workspaces, people, inboxes, API keys with the agents they act as, and what each may see (specification 5).
//! This is the lowest product module: it knows nothing of conversations or mail.

pub mod access;
pub mod agents;
pub mod audit;
pub mod cleanup_progress;
pub mod clients;
pub mod create;
pub mod domains;
pub mod erased_addresses;
pub mod first_run;
pub mod inbox_settings;
pub mod keys;
pub mod mailboxes;
pub mod notices;
pub mod one_time_codes;
pub mod passkeys;
pub mod passwords;
pub mod people;
pub mod plan;
pub mod preferences;
pub mod second_factor;
pub mod sessions;
pub mod sign_in_links;
pub mod signatures;
pub mod single_sign_on;
