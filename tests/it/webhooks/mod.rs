//! Webhooks, from the change that causes an event to the request that a real HTTP server gets.

mod by_api;
mod delivering;
mod fairness;
mod feed;
mod following;
mod guard;
mod killing;
mod kinds;
mod logging;
mod making;
mod outbox;
mod redelivering;
mod retrying;
mod scoping;
mod slow_names;
