//! How much anybody may take: requests of a key in a minute, mail of a sender in a day, tries to sign in,
//! uploads of a browser at once, requests of sending services, mail to strangers, bodies and calls that keep a connection.
//! Counted in memory; what must hold for all nodes is added to rows that they share. When keys
//! were used goes the same way.

pub mod customers;
pub mod daily_quota;
pub mod fair_seats;
pub mod hooks;
pub mod key_uses;
pub mod one_at_a_time;
pub mod places;
pub mod rate;
pub mod sign_in;
pub mod stranger_mail;
pub mod uploads;
