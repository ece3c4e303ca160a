//! The program: `serve` and its loops (`worker`), every path it answers (`routes`), several cells behind one address (`fleet`), and
//! the commands (`cli`).
//!
//! A loop is one line of the table in `worker`: how often it runs, when it is due next, what it works off. It stands alone, so a
//! panic or a slow batch in one stops no other.
//!
//! Here the crates meet; nothing below knows that they do. The stories of tests/it run this library.

pub mod cli;
pub mod fleet;
pub mod routes;
pub mod worker;
