//! `/settings/people`: who is on the team, their roles, invitations, and what happens when somebody leaves.
//! For owners and admins.

pub mod invite;
pub mod list;
pub mod remove;
pub mod roles;
pub mod second_factor;

pub const PATH: &str = "/settings/people";
