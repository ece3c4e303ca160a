//! What happens over time: mail that comes in, and what follows from it.

mod announced;
mod asked;
mod canary;
mod commands;
mod forgetting;
mod import;
mod inbound;
mod origins;
mod people;
mod released;
mod sandbox;
mod sending;
mod ten_days;
mod transitions;
mod worker;
