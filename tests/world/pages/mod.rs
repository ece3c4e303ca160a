//! Pages as people and customers use them, without a browser.

pub mod approvals;
pub mod customer;
pub mod sign_in;
pub mod writing;
