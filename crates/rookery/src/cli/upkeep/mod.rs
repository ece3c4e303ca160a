//! What an operator does to keep the server well: looking at everything it needs, backups, and spreading workspaces over
//! several databases. All run beside the service.

pub mod backup;
pub mod cells;
pub mod doctor;
