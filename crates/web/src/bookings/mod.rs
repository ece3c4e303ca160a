//! `/bookings`: what is booked and still to come, and cancelling as a host; and offering times in a reply.
//! What was booked out of a conversation is seen by those who see the conversation.

pub mod cancel;
pub mod list;
pub mod offer;
