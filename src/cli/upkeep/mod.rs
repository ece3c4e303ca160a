//! What an operator does to keep the server well: looking at everything it needs, and backups.
//! Both run beside the service.

pub mod backup;
pub mod doctor;
