//! The list as people work with it: views of a person, what its rows show beyond a summary, and how many there are of
//! each.

pub mod counts;
pub mod rows;
pub mod saved;
pub mod tagged;
pub mod view;
