//! What must hold when things fail, and when there is more than one of them.

mod concurrency;
mod rollback;
mod two_nodes;
