//! What all connections of one listener share: limits of connections and work, the recipient cache, the
//! authenticator; and which peers may connect.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::fair_semaphore::FairSemaphore;
use super::pass_on::OnTheWay;
use super::peers::{Limits, Peers};
use super::recipients::Recipients;
use super::tls::Tls;
use crate::incoming::authenticate::Authenticator;
use crate::incoming::receive::batch::Batcher;
use rookery_base::app::App;
use rookery_base::cells::Cells;
use rookery_base::error::Result;

/// The largest mail (D143). Both the announced SIZE and the actual size are checked.
pub const MAX_MAIL_BYTES: usize = 40 * 1024 * 1024;
/// Memory budget for mail in progress, in portions of 64 KB: one mail of the largest size in total. Other mail
/// waits in its spool.
pub(super) const PORTION: usize = 64 * 1024;
pub(super) const PORTIONS: usize = MAX_MAIL_BYTES / PORTION;
/// Larger mails parsed concurrently.
const TAKEN_APART: usize = 4;
/// Connections of LMTP front servers.
pub const LMTP_CONNECTIONS: usize = 200;
/// Mails waiting for DNS: of all senders, of one sender, and how long a mail waits for its turn.
const ASKING: usize = 256;
const ASKING_OF_ONE: usize = 5;
const ASKING_TIME: Duration = Duration::from_secs(5);

rookery_base::text_enum! {
    /// As figures and sockets of systemd name it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Protocol {
        Smtp = "smtp",
        Lmtp = "lmtp",
    }
}

/// A mail listener.
pub struct Door {
    /// Of the first cell: its settings, figures, clock and chance are the node's.
    pub(super) app: Arc<App>,
    pub(super) cells: Arc<Cells>,
    /// What the service calls itself to other mail servers.
    pub(super) name: String,
    pub(super) patience: Duration,
    pub(super) authenticator: Authenticator,
    pub(super) peers: Arc<Peers>,
    pub(super) recipients: Recipients,
    pub(super) together: Arc<Batcher>,
    pub(super) tls: Option<Tls>,
    pub(super) work: Semaphore,
    pub(super) processors: Semaphore,
    pub(super) asking: FairSemaphore,
    /// To nodes of other cells.
    pub(super) on_the_way: OnTheWay,
    pub(super) protocol: Protocol,
}

impl Door {
    pub fn open(cells: Arc<Cells>, protocol: Protocol) -> Result<Arc<Self>> {
        let app = cells.first().clone();
        let config = &app.config;
        let patience = Duration::from_secs(u64::from(config.smtp_timeout_seconds));
        let (connections, connections_of_one) = match protocol {
            Protocol::Smtp => (config.smtp_connections as usize, config.smtp_peer_connections as usize),
            Protocol::Lmtp => (LMTP_CONNECTIONS, LMTP_CONNECTIONS),
        };
        let limits = Limits {
            connections,
            connections_of_one,
            spooled: (config.spool_megabytes as usize) << 20,
            patience,
            trusted: protocol == Protocol::Lmtp,
        };
        let tls = match (&config.tls_certificate, &config.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::load(certificate, key)?),
            _ => None,
        };
        let name = config.mail_name();
        Ok(Arc::new(Self {
            patience,
            authenticator: Authenticator::new(&config.dns, &name)?,
            peers: Peers::new(limits),
            recipients: Recipients::default(),
            together: Arc::default(),
            work: Semaphore::new(PORTIONS),
            processors: Semaphore::new(TAKEN_APART),
            asking: FairSemaphore::new(ASKING, ASKING_OF_ONE, ASKING_TIME),
            on_the_way: OnTheWay::default(),
            protocol,
            tls,
            name,
            app,
            cells,
        }))
    }

    /// SMTP is open to everyone. LMTP trusts what the client says about the origin of mail, so only the operator's
    /// own machines may use it.
    pub(super) fn admits(&self, peer: IpAddr, here: Option<IpAddr>) -> bool {
        let peer = peer.to_canonical();
        match self.app.config.lmtp_peers.as_slice() {
            _ if self.protocol == Protocol::Smtp => true,
            [] => is_near(peer) || here.is_some_and(|here| here.to_canonical() == peer),
            networks => networks.iter().any(|network| network.contains(&peer)),
        }
    }
}

/// On this machine or in a private network.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let shared = first == 100 && second & 0xc0 == 64;
            address.is_loopback() || address.is_private() || address.is_link_local() || shared
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn private_addresses_are_near() {
        for (address, near) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("172.31.0.1", true),
            ("192.168.1.1", true),
            ("100.64.0.1", true),
            ("::1", true),
            ("fd00::1", true),
            ("100.128.0.1", false),
            ("172.32.0.1", false),
            ("192.0.2.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_near(address.parse().unwrap()), near, "{address}");
        }
    }
}
