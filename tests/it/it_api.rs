//! The door for programs: operations through REST and MCP, keys, sign-in of clients, and requests that are repeated.

mod client_sign_in;
mod door;
mod keys;
mod operations;
mod repeating;
