//! Webhooks: who listens to what happens, and the deliveries that tell them (specification 6).
//!
//! An event becomes deliveries in `fan_out`; `deliver` claims them by webhook, tries each and writes down what
//! came of it. People manage webhooks by the verbs in `create`, `manage`, `redeliver`, `remove` and `log`.

pub mod attempt;
pub mod claim;
pub mod create;
pub mod deliver;
pub mod erase;
pub mod fan_out;
pub mod hand_over;
pub mod health;
pub mod log;
pub mod manage;
pub mod redeliver;
pub mod remove;
pub mod results;
pub mod schedule;
pub mod secret;
pub mod webhook;
