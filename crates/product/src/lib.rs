//! What people and agents do in a conversation: replies with approval and undo, documents and asking for them, mail that other
//! apps sent, and bookings.
//!
//! Verbs as in `rookery-core`: one function, one transaction. What leaves is a row with a time at which it is due; nothing here
//! sends anything.
//!
//! It must never know how mail comes in or leaves, or what a page looks like.

pub mod app_mail;
pub mod bookings;
pub mod documents;
pub mod replies;
