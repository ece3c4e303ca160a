//! Where a mail comes from, as far as its client said: the world's, a front server's of one's own that forwards what it knows of
//! its client, or another node's.

use std::net::IpAddr;

/// What XFORWARD says of its source when a node passes mail on.
pub const FLEET: &str = "FLEET";

/// The client, as far as it said who it is.
#[derive(Clone)]
pub struct MailOrigin {
    /// The address for SPF. Behind a front server of our own, that server has to forward it.
    pub address: Option<IpAddr>,
    pub peer: IpAddr,
    pub helo: Option<String>,
    pub extended: bool,
    pub encrypted: bool,
    /// Another node passed it on, which is done once.
    pub passed_on: bool,
}

impl MailOrigin {
    /// `ADDR=192.0.2.1 HELO=mx.example`: what the front server knows of its client.
    pub(super) fn forwarded(&mut self, attributes: &[u8]) {
        let attributes = String::from_utf8_lossy(attributes);
        for (name, value) in attributes.split_ascii_whitespace().filter_map(|pair| pair.split_once('=')) {
            let known = Some(value).filter(|value| !value.starts_with('['));
            match name.to_ascii_uppercase().as_str() {
                "ADDR" => {
                    let address = known.map(|value| value.trim_start_matches("IPv6:"));
                    self.address = address.and_then(|address| address.parse().ok());
                }
                "HELO" => self.helo = known.map(str::to_owned).or(self.helo.take()),
                "SOURCE" => self.passed_on = value == FLEET,
                _ => {}
            }
        }
    }
}
