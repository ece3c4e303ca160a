//! HTTP for whoever asks, machines and people: `serve` and `connections` say who may stay, `bodies` what may be sent,
//! `answers` what comes back. What is asked for is in the rooms that have pages and operations.

pub mod answers;
pub mod bodies;
pub mod connections;
pub mod health;
mod paced;
pub mod recent;
pub mod refusals;
pub mod serve;
