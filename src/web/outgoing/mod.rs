//! Outgoing mail (specification 3.3): its page, the strip on every page, the clock of the undo window, and stopping a
//! message.

pub mod clock;
pub mod show;
pub mod strip;
pub mod undo;
