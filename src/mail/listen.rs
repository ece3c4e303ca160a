//! The doors for mail from outside: SMTP for the world, LMTP for a mail server of one's own in front.
//! One task for each connection; `session` is the conversation, `hand_over` what happens to a whole mail.
//!
//! A 250 is said after the mail is stored and committed, and never before.

pub mod data;
mod hand_over;
mod peers;
mod recipients;
mod session;
mod spool;
mod tls;
mod turns;
mod wire;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::peers::{Limits, Peers};
use self::recipients::Recipients;
use self::session::Session;
use self::tls::Tls;
use self::turns::Turns;
use self::wire::Wire;
use crate::app::App;
use crate::error::Result;
use crate::mail::authenticate::Authenticator;
use crate::mail::receive::together::Together;

/// The largest mail (D143). The announced SIZE and the true size are both held to it.
pub const MAX_MAIL_BYTES: usize = 40 * 1024 * 1024;
/// Mail is worked on in portions of 64 KB, and as many at the same time as the largest mail has; more waits where it is.
const PORTION: usize = 64 * 1024;
const PORTIONS: usize = MAX_MAIL_BYTES / PORTION;
/// Mails that are taken apart at the same time, when that takes a moment.
const TAKEN_APART: usize = 4;
/// Connections of front servers.
pub const LMTP_CONNECTIONS: usize = 200;
/// Mails that wait for name servers, of all senders and of one.
const ASKING: usize = 256;
const ASKING_OF_ONE: usize = 5;
const ASKING_TIME: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Smtp,
    Lmtp,
}

/// What all connections share.
pub struct Door {
    app: Arc<App>,
    /// What the service calls itself to other mail servers.
    name: String,
    patience: Duration,
    authenticator: Authenticator,
    peers: Arc<Peers>,
    recipients: Recipients,
    together: Arc<Together>,
    tls: Option<Tls>,
    work: Semaphore,
    processors: Semaphore,
    asking: Turns,
    protocol: Protocol,
}

impl Door {
    pub fn open(app: Arc<App>, protocol: Protocol) -> Result<Arc<Self>> {
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
            asking: Turns::new(ASKING, ASKING_OF_ONE, ASKING_TIME),
            protocol,
            tls,
            name,
            app,
        }))
    }

    /// Takes connections until the service stops; mail that is coming in is finished first.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut sessions = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = sessions.join_next() => continue,
                () = self.app.stop.wait() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    sessions.spawn(self.clone().converse(stream, peer.ip()));
                }
                Err(error) => {
                    // Out of file handles, most likely: a pause lets some come back.
                    tracing::warn!(%error, "a mail connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        while sessions.join_next().await.is_some() {}
    }

    async fn converse(self: Arc<Self>, stream: TcpStream, peer: IpAddr) {
        let _ = stream.set_nodelay(true);
        let here = stream.local_addr().ok().map(|address| address.ip());
        let mut wire = Wire::new(stream, self.patience);
        let seat = match self.admits(peer, here) {
            true => self.peers.seat(peer).ok_or("421 4.7.0 Too many connections, try again later\r\n"),
            false => {
                tracing::warn!(%peer, "not a front server that may hand over mail, see ROOKERY_LMTP_PEERS");
                Err("421 4.7.0 You may not hand over mail here\r\n")
            }
        };
        let seat = match seat {
            Ok(seat) => seat,
            Err(answer) => {
                let _ = wire.say(answer).await;
                wire.close().await;
                return;
            }
        };
        let protocol = self.protocol;
        // A broken connection is the other side's to repeat; there is nothing to say about it here.
        let _ = Session::new(self, peer, protocol, seat).run(wire).await;
    }

    /// SMTP is for the world. LMTP believes what it is told of others, and is for the operator's own machines.
    fn admits(&self, peer: IpAddr, here: Option<IpAddr>) -> bool {
        let peer = peer.to_canonical();
        match self.app.config.lmtp_peers.as_slice() {
            _ if self.protocol == Protocol::Smtp => true,
            [] => is_near(peer) || here.is_some_and(|here| here.to_canonical() == peer),
            networks => networks.iter().any(|network| network.contains(&peer)),
        }
    }
}

/// On this machine, or in a network that the world does not reach.
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
    fn what_the_world_does_not_reach_is_near() {
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
