//! The pages on which a workspace is run.

mod domains;
mod inboxes;
