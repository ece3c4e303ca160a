//! `/reports`: five numbers by week, for everybody of the team, of the inboxes that each can see; the same as a table for
//! a spreadsheet.

pub mod chart;
pub mod csv;
pub mod show;

/// Where the page is.
pub const PATH: &str = "/reports";
