//! What must hold when things fail, and when there is more than one of them.

mod clock;
mod concurrency;
mod days;
mod fencing;
mod floods;
mod hang_ups;
mod rollback;
mod sends;
mod smtp_sends;
mod two_nodes;
mod undo_race;
