//! What happens over time: mail that comes in, and what follows from it.

mod announced;
mod asked;
mod bulk;
mod canary;
mod commands;
mod demonstration;
mod forgetting;
mod import;
mod inbound;
mod merging;
mod origins;
mod people;
mod released;
mod sandbox;
mod sending;
mod ten_days;
mod transitions;
mod views;
mod worker;
