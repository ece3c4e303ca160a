//! Bookings for machines: what can be booked, what is booked, and a link for the customer of a conversation.
//! As thin as the events (docs/decisions/bookings-in-the-api.md).

pub mod list_booking_types;
pub mod list_bookings;
pub mod offer_times;
