//! Writing to somebody who has not written: a new conversation; and everything a person has begun and not sent.
//! The form is the composer of `conversation`.

pub mod drafts;
pub mod new;
pub mod people;
