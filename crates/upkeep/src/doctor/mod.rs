//! `rookery doctor`: everything the service needs, a row each with what was found, what is expected and what mends it.
//! What cannot be looked at because something before it is broken has no row: each fault shows once.

mod address;
mod backup;
mod beside;
mod cells;
mod certificate;
mod database;
mod domains;
pub mod examine;
pub mod given;
pub mod kept;
mod mail_in;
mod mail_out;
mod program;
pub mod row;
mod smtp;
mod storage;
mod work;
