//! Reading a mail as bytes: `parse` takes it apart, `quote` finds what its author wrote now, `data` its true end on the wire,
//! `plus_tag` the reference in an address. Strangers write all of it, so every limit comes before the work it bounds.

pub mod data;
pub mod parse;
pub mod plus_tag;
pub mod quote;
