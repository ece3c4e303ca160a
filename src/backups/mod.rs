//! Backups: a dump of the database and the files that its rows name, encrypted with a key that the operator keeps, in a
//! folder. A backup is there when it is whole; `verify` proves that it can be restored.

pub mod contents;
pub mod create;
pub mod manifest;
pub mod place;
pub mod programs;
pub mod prune;
pub mod restore;
pub mod sealed_file;
pub mod verify;
