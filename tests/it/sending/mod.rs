//! Sending services by their own hooks: each one's requests as its documentation shows them, signed as it signs.

mod limits;
mod services;
mod sns;
mod stored;
