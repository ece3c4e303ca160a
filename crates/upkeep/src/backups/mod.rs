//! Backups: a dump of the database and the files that its rows name, encrypted with a key that the operator keeps, in a
//! folder. A backup is there when it is written to its end, whole when it has every file that its rows name, and proven
//! when `verify` has restored it.

pub mod contents;
pub mod create;
pub mod keys;
pub mod lists;
pub mod manifest;
pub mod named;
pub mod place;
pub mod programs;
pub mod prune;
pub mod restore;
pub mod sealed_file;
pub mod spoilt;
pub mod verify;
