//! What keeps an installation sound: exports, departures, erasures, backups, moves to another cell, the doctor, and the
//! demonstration.
//!
//! Long work goes in batches that are safe to repeat; each says in its row how far it is, so that a crash costs one batch. The
//! doctor looks and changes nothing.
//!
//! It knows every room below and must never be needed by one of them.

pub mod backups;
pub mod demo;
pub mod departures;
pub mod doctor;
pub mod erasures;
pub mod exports;
pub mod moves;
