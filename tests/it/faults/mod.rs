//! What must hold when things fail: crashes, outages, concurrent clients and several nodes.

mod concurrency;
mod fencing;
mod floods;
mod hang_ups;
mod rollback;
mod sends;
mod smtp_sends;
mod two_nodes;
mod undo_race;
