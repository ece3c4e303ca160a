//! What a file, a mail or a page from a stranger says: its kind, its text with places, the fields that people ask for, what its
//! author wrote now, and HTML that is safe to show.
//!
//! Pure functions from bytes. Every limit is checked before the work that it bounds, because strangers write all of it; what
//! takes a file apart runs only inside the confined child of `rookery-base`, what works on text alone may run anywhere.
//!
//! It must never know a database, the network, the clock or a workspace. Its tests need none of them and take seconds, and
//! the fuzz targets are built from it alone.

pub mod amounts;
pub mod calendar;
pub mod check;
pub mod dates;
pub mod fields;
pub mod files;
pub mod folded;
pub mod found;
pub mod html;
pub mod kinds;
pub mod labels;
pub mod lists;
pub mod mail;
pub mod met;
pub mod page;
pub mod parties;
pub mod reference;
pub mod sums;
pub mod text;
pub mod title;
pub mod vendor;
pub mod whole;
