//! What mail tests need around the service: a client that speaks SMTP, name servers, a gate before the database, a post.

pub mod client;
pub mod dns;
pub mod gate;
pub mod post;
pub mod services;
