//! Other apps are told what happened: who listens, the fan-out from events to deliveries, attempts under a lease, the log.
//!
//! A delivery is signed, tried again for a day, and heard of once by every webhook that was there when it happened. No webhook
//! waits for another one's slow receiver, and no workspace for another's queue.
//!
//! It must never know what an event means, and reaches other machines through the guarded client of `rookery-base` alone.

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
pub mod redeliver_failed;
pub mod remove;
pub mod results;
pub mod schedule;
pub mod secret;
pub mod webhook;
