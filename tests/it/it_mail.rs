//! Mail in and out, whoever sends it: what arrives, what leaves, what strangers and services say, and what assistants make of it.

mod addresses;
mod assistants;
mod hostile;
mod mail;
mod outgoing;
mod sending;
mod strangers;
