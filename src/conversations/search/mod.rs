//! The search for words: `index` brings the words of mail in, `find` looks them up (specification 4.2).
//! An index that is behind never makes a search fail.

pub mod find;
pub mod index;
