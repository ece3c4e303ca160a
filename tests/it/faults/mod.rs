//! What must hold when things fail, and when there is more than one of them.

mod concurrency;
mod fencing;
mod floods;
mod hang_ups;
mod poison;
mod rollback;
mod sends;
mod smtp_sends;
mod two_nodes;
mod undo_race;
