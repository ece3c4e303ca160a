//! What keeps an installation whole: backups, cells, erasing, the doctor, faults at every step, upgrades and the soak.

mod backups;
mod blobs;
mod cells;
mod doctor;
mod erasing;
mod faults;
mod soak;
mod upgrade;
