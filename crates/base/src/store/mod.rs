//! Where things are kept: PostgreSQL and the ways to hold a connection, files, tables by day, and the directory that
//! says whose things they are.

pub mod addresses;
pub mod answered;
pub mod blobs;
pub mod calls;
pub mod cells;
pub mod clients;
pub mod connection;
pub mod db;
pub mod directory;
pub mod domains;
pub mod doomed_files;
pub mod forget;
pub mod held_blobs;
pub mod lookups;
pub mod partitions;
mod senders;
pub mod standings;
