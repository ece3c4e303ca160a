//! Mail: receiving (`listen`, `receive`), sending (`send`) and the sandbox (specification 1, 4.14). All content of
//! received mail is untrusted input.

pub mod admit;
pub mod authenticate;
pub mod compose;
pub mod delivery;
pub mod dkim;
pub mod domain;
pub mod drop_raw;
pub mod fetch;
pub mod heed;
pub mod listen;
pub mod notify;
pub mod organization;
pub mod parse;
pub mod quote;
pub mod receive;
pub mod replay;
pub mod return_path;
pub mod sandbox;
pub mod scam;
pub mod send;
pub mod sweep;
pub mod thread;
