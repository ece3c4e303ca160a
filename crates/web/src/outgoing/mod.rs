//! Outgoing mail (specification 3.3): its page, the strip on every page, the clock of the undo window, stopping a message,
//! sending it now or again, changing when it leaves.

pub mod again;
pub mod clock;
pub mod now;
pub mod show;
pub mod strip;
pub mod time;
pub mod undo;
