//! What of conversations is kept and what goes: holds, retention by inbox with its trash, and taking a contact or a whole
//! conversation away.

pub mod forget;
pub mod holds;
pub mod parts;
pub mod retention;
