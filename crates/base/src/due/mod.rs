//! Working off rows whose time has come: leases and their guard, one pass over what is due, and backoff for what fails.
//! The loops of the worker are made of these.

pub mod backoff;
pub mod lease;
pub mod mark;
pub mod pass;
pub mod turns;
