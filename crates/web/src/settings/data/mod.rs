//! `/settings/data`: what is kept and for how long, holds, exports, and erasing a contact for good.
//! Everything that is done here is in the audit log.

pub mod conversation;
pub mod erase;
pub mod exports;
pub mod holds;
pub mod keep;
pub mod show;

pub const PATH: &str = "/settings/data";
