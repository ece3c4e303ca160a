//! What somebody without a key can make the HTTP door do: little. Processor time, memory, connections and the
//! database's attention stay bounded, and whoever has a key is served meanwhile.

mod asking;
mod bodies;
mod connecting;
mod raw;
mod signing;
