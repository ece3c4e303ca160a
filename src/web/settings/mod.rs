//! `/settings`: the first page, and a person's own.
//! What concerns the whole workspace is for owners and admins.

pub mod device;
pub mod domains;
pub mod home;
pub mod inboxes;
pub mod password;
pub mod profile;
pub mod sections;
pub mod sessions;
