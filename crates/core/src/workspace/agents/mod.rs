//! Agents as people watch over them: the word that stops all of them, what each wrote by day and may write, and when its
//! key was used.

pub mod caps;
pub mod days;
pub mod list;
pub mod secure_words;
pub mod stop;
pub mod uses;
