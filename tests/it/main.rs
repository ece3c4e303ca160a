//! All tests that need more than one module: one binary, one throw-away PostgreSQL, a database per test.

mod assistants;
mod backups;
mod blobs;
mod budgets;
mod doctor;
mod documents;
mod door;
mod erasing;
mod faults;
mod flows;
mod keys;
mod mail;
mod operating;
mod operations;
mod outgoing;
mod requirements;
mod roles;
mod rules;
mod sending;
mod strangers;
mod tidy;
mod upgrade;
mod web;
mod webhooks;
mod workspace;
mod world;
