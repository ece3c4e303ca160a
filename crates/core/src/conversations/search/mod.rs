//! The search for words (specification 4.2): `pending` is what is to be indexed, `index` brings the words of mail in,
//! `find` looks them up, `query` is what was typed, `beginnings` what its last word may be the beginning of, `narrowing`
//! what its operators name, `excerpts` shows where they stand. An index that is behind never makes a search fail. Of notes
//! (`notes`) people find the words, and keys do not.

mod again;
pub mod beginnings;
pub mod excerpts;
pub mod find;
pub mod index;
pub mod narrowing;
mod notes;
pub mod pending;
pub mod query;
pub mod sought;
mod stored;
