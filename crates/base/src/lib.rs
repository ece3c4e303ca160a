//! What everything stands on: PostgreSQL and files (`store`), work that is due (`due`), what is shared out (`limits`), keys and
//! hashes (`secrets`), the network (`net`, `relay`), what open pages hear (`live`), figures, the confined child, settings,
//! the customers' languages, the clock and chance.
//!
//! `App` holds all of it for one cell: whoever has an `App` can reach everything here and nothing else. A connection to
//! the database has the seat of its workspace, a transaction (`Tx`) the workspace it may touch.
//!
//! It must never know what a conversation is, who may see what, or which page is open: tables of the product have owners
//! further up. Time and chance come from `clock` and `random` alone, settings from `config`.

pub mod app;
pub mod breaking_changes;
pub mod cells;
pub mod clock;
pub mod config;
pub mod confined;
pub mod due;
pub mod error;
pub mod figures;
pub mod ids;
pub mod installed;
pub mod languages;
pub mod limits;
pub mod links;
pub mod live;
pub mod net;
pub mod random;
pub mod relay;
pub mod search_terms;
pub mod secrets;
pub mod shutdown;
pub mod store;
pub mod text_enum;
pub mod zone;
