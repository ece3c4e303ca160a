//! Messages of a conversation: what one is, how it comes in, how one of ours is written, and how it leaves.
//! `sending` is the life of a message that is due.

pub mod held;
pub mod html;
pub mod inbound;
pub mod message;
pub mod outbound;
pub mod reply_context;
pub mod revision;
pub mod sender;
pub mod sending;
pub mod shown;
