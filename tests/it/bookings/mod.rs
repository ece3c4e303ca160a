//! Bookings: setting up, what is free, who gets it, what leaves, the API, hosts' other calendars, and what visitors' calendars
//! answer.

mod api;
mod calendars;
mod command;
mod engine;
mod erasing;
mod pages;
mod peers;
mod rsvp;
mod types;
