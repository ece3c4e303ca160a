//! Rookery: a shared customer-email inbox for teams and their software agents.
//! ARCHITECTURE.md says how the folders hang together.

pub mod addresses;
pub mod api;
pub mod app;
pub mod app_mail;
pub mod blobs;
pub mod cli;
pub mod clock;
pub mod config;
pub mod conversations;
pub mod db;
pub mod directory;
pub mod dns;
pub mod documents;
pub mod error;
pub mod events;
pub mod ids;
pub mod key_ring;
pub mod links;
pub mod mail;
pub mod mailer;
pub mod outside;
pub mod partitions;
pub mod random;
pub mod rate;
pub mod relay;
pub mod replies;
pub mod sealed;
pub mod signed;
pub mod stop;
pub mod text;
pub mod webhooks;
pub mod words;
pub mod worker;
pub mod workspace;
