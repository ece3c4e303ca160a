//! The demonstration: a lettings agency and its mail, played through the doors that real mail and real people use.
//! Nothing here writes a table. `fill` is the verb; `cast`, `company` and `diary` are who works there, how, and what can be
//! booked; `stories/` and `mail/` hold the words, and `files/` what is attached.

mod cast;
mod company;
mod composed;
mod diary;
mod everyday;
mod files;
pub mod fill;
mod letter;
mod play;
mod story;
mod visits;
