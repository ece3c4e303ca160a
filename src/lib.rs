//! Rookery: a shared customer-email inbox for teams and their software agents.
//! ARCHITECTURE.md says how the folders hang together.

pub mod api;
pub mod app;
pub mod app_mail;
pub mod cli;
pub mod clock;
pub mod config;
pub mod conversations;
pub mod demo;
pub mod departures;
pub mod documents;
pub mod due;
pub mod error;
pub mod events;
pub mod html;
pub mod http;
pub mod ids;
pub mod incoming;
pub mod limits;
pub mod live;
pub mod net;
pub mod outgoing;
pub mod random;
pub mod relay;
pub mod replies;
pub mod routes;
pub mod sandbox;
pub mod search_terms;
pub mod secrets;
pub mod shutdown;
pub mod store;
pub mod text;
pub mod web;
pub mod webhooks;
pub mod worker;
pub mod workspace;
