//! What open pages are told: that something they show has changed, never what. A change is told on its own node at
//! once and to the other nodes by the database, after its commit. Every word here is a hint: a page that misses one
//! asks again within a minute.

pub mod feed;
pub mod nodes;
pub mod presence;
pub mod streams;
pub mod topic;
