//! The network outside: names, addresses, and the one way to connect to a machine that a customer chose.
//! Nothing here knows the product.

pub mod clamd;
pub mod dns;
pub mod fd_limit;
pub mod ip_ranges;
pub mod models;
pub mod openid;
pub mod outside;
pub mod pictures;
pub mod sns;
pub mod systemd;
