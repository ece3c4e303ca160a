//! How much anybody may take: requests of a key in a minute, mail of a sender in a day, tries to sign in.
//! Counted in memory, added to rows that all nodes share.

pub mod daily_quota;
pub mod rate;
pub mod sign_in;
