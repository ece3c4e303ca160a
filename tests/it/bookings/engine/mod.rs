//! The engine under visitors who want the same time at once, under nodes that die, and with very many bookings.

mod calendars;
mod mails;
mod races;
mod room;
