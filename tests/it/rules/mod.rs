//! Rules: what they do to mail and to tags, what they never do, and the pages on which they are made.

mod acting;
mod pages;
mod walls;
