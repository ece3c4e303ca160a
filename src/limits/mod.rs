//! How much anybody may take: requests of a key in a minute, mail of a sender in a day, tries to sign in,
//! uploads of a browser at once, requests of sending services. Counted in memory; what must hold for all nodes is added to rows that they share. When keys
//! were used goes the same way.

pub mod customers;
pub mod daily_quota;
pub mod hooks;
pub mod key_uses;
pub mod rate;
pub mod sign_in;
pub mod uploads;
