//! What must hold when things fail: crashes, outages, concurrent clients and several nodes.

mod agent_limits;
mod clock;
mod concurrency;
mod days;
mod fencing;
mod floods;
mod hang_ups;
mod neighbours;
mod ours;
mod poison;
mod rollback;
mod sends;
mod smtp_sends;
mod stop_agents;
mod telling;
mod turns;
mod two_nodes;
mod undo_race;
