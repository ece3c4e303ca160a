//! What is kept and what goes: a contact that is erased, also when nodes die meanwhile or an older backup comes back, and
//! conversations whose time is over.

mod backups;
pub mod contact;
pub mod exports;
mod holds;
mod killing;
mod parts;
mod places;
pub mod retention;
mod shared;
mod size;
