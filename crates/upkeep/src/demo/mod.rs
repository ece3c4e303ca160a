//! The demonstration: a lettings agency and its mail, played through the doors that real mail and real people use.
//! Nothing here writes a table. `fill` is the verb; `stories/` and `mail/` hold the words.

mod cast;
mod everyday;
mod files;
pub mod fill;
mod letter;
mod play;
mod story;
