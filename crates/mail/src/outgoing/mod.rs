//! Mail that leaves: claimed when it is due, composed, signed, handed to the relay; and the domains it leaves from.
//! The same message gives the same bytes on every try.

pub mod compose;
pub mod dkim;
pub mod domain;
pub mod invite;
pub mod notify;
pub mod send;
pub mod whole_mail;
