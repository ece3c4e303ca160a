//! The approval queue (specification 3.3): what waits, one draft beside the customer's mail, and what a person decides
//! about it or about several.

pub mod deciding;
pub mod kept;
pub mod many;
pub mod queue;
