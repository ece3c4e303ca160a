//! Several cells behind one address: real nodes, two databases of a PostgreSQL that can replicate.

mod finding;
mod fleet;
mod following;
mod moving;
