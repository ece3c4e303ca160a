//! `/settings/bookings`: what the team can be booked for, one type and how it is run, when somebody can be booked, and their
//! other calendars. Members set up their own, owners and admins anybody's (D048).

pub mod calendars;
pub mod doing;
pub mod edit;
pub mod hours;
pub mod list;
pub mod typed;

/// Where the pages are.
pub const PATH: &str = "/settings/bookings";
