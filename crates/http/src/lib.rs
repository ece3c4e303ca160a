//! What every asker of HTTP meets before anybody knows who asks: connections, bodies and their shares, answers, health, and
//! files that are embedded when the program is built.
//!
//! A connection, a body and a waiting call have a place that is counted by whoever asks, so that nobody starves another; a
//! slow one gives its place up first.
//!
//! It must never know an operation or a page: the doors `rookery-api` and `rookery-web` stand on it.

pub mod afterwards;
pub mod answers;
pub mod assets;
pub mod bodies;
pub mod connections;
pub mod files;
pub mod health;
mod paced;
pub mod serve;
pub mod short_cache;
pub mod slow_bodies;
pub mod unauthorized_log;
