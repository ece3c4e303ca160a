//! Reading a stranger's file: what it is, its text with places, and the fields that people ask for (specification 2.7).
//! Pure functions over bytes. What takes a file apart runs only inside a confined child (`src/confined`); what works on
//! text alone may run anywhere.

pub mod amounts;
pub mod archive;
pub mod check;
pub mod dates;
pub mod drawing;
pub mod einvoice;
pub mod fields;
pub mod folded;
pub mod found;
pub mod kinds;
pub mod labels;
pub mod office;
pub mod page;
pub mod pdf;
pub mod picture;
pub mod vendor;
pub mod whole;
pub mod words;
