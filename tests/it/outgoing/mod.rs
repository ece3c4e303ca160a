//! Mail on its way out: what it looks like, how it is signed, and how a relay takes it.

mod domains;
mod next_hop;
mod relay;
mod threading;
