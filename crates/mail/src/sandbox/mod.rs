//! The sandbox (specification 4.14, 8.3). A simulated email is rendered as a real one, so that everything from
//! parsing on is the same as for received mail. Sent mail is recorded in a table.

pub mod answer;
pub mod deliver;
pub mod erase;
mod invoice;
pub mod keys;
pub mod left;
pub mod magic;
pub mod simulate;
pub mod try_it;
