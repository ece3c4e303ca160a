//! Erasing: a contact for good, in steps that survive any crash and are done again when an older backup comes back; and
//! conversations whose time is over. It knows every room that holds something of a person, so it stands above them all.

pub mod ask;
pub mod conversation;
mod erasure;
pub mod finding;
pub mod list;
pub mod places;
pub mod preview;
pub mod replay;
pub mod resealing;
pub mod retention;
pub mod steps;
mod taking;
pub mod work;
