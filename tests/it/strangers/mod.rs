//! What an unauthenticated client can make the HTTP server do: little. Processor time, memory, connections and the
//! database's attention stay bounded, and clients with a key are served meanwhile.

mod asking;
mod bodies;
mod connecting;
mod mail;
mod owing;
mod signing;
