//! What must hold when things fail, and when there is more than one of them.

mod two_nodes;
