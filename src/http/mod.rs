//! The HTTP server: `serve` and `connections` accept and limit connections, `bodies` reads requests, `answers`
//! writes responses. The routes themselves are in `api` and `routes`.

pub mod afterwards;
pub mod answers;
pub mod bodies;
pub mod connections;
pub mod files;
pub mod health;
mod paced;
pub mod serve;
pub mod short_cache;
pub mod slow_bodies;
pub mod unauthorized_log;
