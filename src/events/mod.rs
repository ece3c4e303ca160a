//! WHAT HAPPENED, for apps that listen (specification 6). Events know no listener: whoever delivers them
//! reads what is recorded here.

pub mod envelope;
pub mod event;
pub mod read;
pub mod record;
pub mod take;
