//! Reading a stranger's file: what it is, its text with places, and the fields that people ask for (specification 2.7).
//! Pure functions over bytes. What takes a file apart runs only inside a confined child (`src/confined`); what works on
//! text alone may run anywhere.

pub mod amounts;
pub mod calendar;
pub mod check;
pub mod dates;
pub mod fields;
pub mod files;
pub mod folded;
pub mod found;
pub mod kinds;
pub mod labels;
pub mod met;
pub mod page;
pub mod parties;
pub mod reference;
pub mod sums;
pub mod title;
pub mod vendor;
pub mod whole;
