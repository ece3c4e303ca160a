//! Verbs of the product, called as a story wants them.

pub mod bookings;
pub mod erasing;
pub mod house;
pub mod rules;
