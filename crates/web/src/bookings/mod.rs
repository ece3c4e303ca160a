//! `/bookings`: what is booked and still to come, and cancelling as a host.
//! What was booked out of a conversation is seen by those who see the conversation.

pub mod cancel;
pub mod list;
