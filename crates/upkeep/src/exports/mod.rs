//! Exports: a ZIP of everything of a contact, or of the workspace, that whoever asks can see. The worker makes it; it is
//! there for seven days, for that person alone.

pub mod ask;
pub mod bookings;
pub mod content;
pub mod make;
pub mod zip;
