//! Flows through several rooms, and what follows from a change: rules, events and webhooks.

mod flows;
mod rules;
mod webhooks;
mod workspace;
