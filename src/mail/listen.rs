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
mod wire;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::peers::Peers;
use self::recipients::Recipients;
use self::session::Session;
use self::tls::Tls;
use self::wire::Wire;
use crate::app::App;
use crate::error::Result;
use crate::mail::authenticate::Authenticator;
use crate::mail::receive::together::Together;

/// The largest mail (D143). The announced SIZE and the true size are both held to it.
pub const MAX_MAIL_BYTES: usize = 40 * 1024 * 1024;
/// Megabytes of large mail that are worked on at the same time; more waits on disk.
const WORKED_ON: usize = 64;

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
}

impl Door {
    pub fn open(app: Arc<App>) -> Result<Arc<Self>> {
        let config = &app.config;
        let tls = match (&config.tls_certificate, &config.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::load(certificate, key)?),
            _ => None,
        };
        let name = config.mail_name();
        Ok(Arc::new(Self {
            patience: Duration::from_secs(u64::from(config.smtp_timeout_seconds)),
            authenticator: Authenticator::new(&config.dns, &name)?,
            peers: Peers::new(config.smtp_peer_connections as usize),
            recipients: Recipients::default(),
            together: Arc::default(),
            work: Semaphore::new(WORKED_ON),
            tls,
            name,
            app,
        }))
    }

    /// Takes connections until the service stops; mail that is coming in is finished first.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, protocol: Protocol) {
        let mut sessions = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = sessions.join_next() => continue,
                () = self.app.stop.wait() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    sessions.spawn(self.clone().converse(stream, peer.ip(), protocol));
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

    async fn converse(self: Arc<Self>, stream: TcpStream, peer: IpAddr, protocol: Protocol) {
        let _ = stream.set_nodelay(true);
        let mut wire = Wire::new(stream, self.patience);
        let Some(seat) = self.peers.seat(peer) else {
            let _ = wire.say("421 4.7.0 Too many connections, try again later\r\n").await;
            wire.close().await;
            return;
        };
        // A broken connection is the other side's to repeat; there is nothing to say about it here.
        let _ = Session::new(self, peer, protocol, seat).run(wire).await;
    }
}
