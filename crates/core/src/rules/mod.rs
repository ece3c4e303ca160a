//! Rules of a workspace: when mail arrives or a tag is set, if all of this is true, then do that. Here is what a rule is,
//! whether it matches and how it is kept; `conversations/ruled/` acts.

pub mod broken;
pub mod definition;
pub mod erase;
pub mod matching;
pub mod runs;
pub mod store;
