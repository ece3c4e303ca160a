//! Mail from outside, over real sockets: the conversation, who wrote it, where it is filed, what it survives.

mod attacks;
mod bursts;
mod client;
mod corpus;
mod dns;
mod filing;
mod gate;
mod keeping;
mod kills;
mod outages;
pub mod post;
mod protocol;
mod reports;
mod s3;
mod sending_services;
mod verdicts;
