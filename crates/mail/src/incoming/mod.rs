//! Mail that comes in: from the first byte on a socket to a stored message, top to bottom in `receive`.
//! Everything in it comes from outside and is hostile until proven otherwise (specification 1, 4.14).

pub mod app_mail_body;
pub mod authenticate;
pub mod delivery;
pub mod drop_raw;
pub mod listen;
pub mod quota;
pub mod receive;
pub mod replay;
pub mod reports;
pub mod return_path;
pub mod scam;
pub mod service_reports;
mod stage;
pub mod thread;
