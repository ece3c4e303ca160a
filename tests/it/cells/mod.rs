//! Several cells behind one address: real nodes, two databases of a PostgreSQL that can replicate.

mod commands;
mod finding;
mod fleet;
mod following;
mod hanging;
mod in_hand;
mod load;
mod moving;
mod restored;
