//! Addresses for nodes, which are processes of their own and have to be told theirs before they take it. They are below
//! the ports that the system gives to connections, so no connection of another test takes one in between.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 10_000;
const MANY: u16 = 20_000;

pub fn free() -> SocketAddr {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    // Two runs at once begin at different places.
    let begin = (std::process::id().wrapping_mul(769) % u32::from(MANY)) as u16;
    for _ in 0..MANY {
        let place = begin.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % MANY;
        let address = SocketAddr::from(([127, 0, 0, 1], FIRST + place));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
    panic!("no port is free");
}
