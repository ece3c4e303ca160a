//! What happens over time: mail that comes in, and what follows from it.

mod announced;
mod import;
mod inbound;
