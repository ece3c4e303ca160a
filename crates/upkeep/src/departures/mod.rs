//! Somebody leaves the team: what they held, who takes it over, and the work of handing it over.
//! It knows every room that somebody can hold something in, so it stands above them all.

pub mod hand_over;
pub mod held;
pub mod remove;
