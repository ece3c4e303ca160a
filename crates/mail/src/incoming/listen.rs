//! The mail servers: SMTP for the internet, LMTP for a front mail server of the operator's. One task per
//! connection; `session` speaks the protocol, `hand_over` processes a whole mail.
//!
//! A 250 is sent only after the mail is committed.

mod door;
mod fair_semaphore;
mod hand_over;
mod mail_log;
mod origin;
mod pass_on;
mod peers;
pub mod recipients;
mod session;
mod spool;
mod tls;
mod wire;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub use self::door::{Door, LMTP_CONNECTIONS, MAX_MAIL_BYTES, Protocol};
use self::session::MailSession;
use self::wire::Wire;

impl Door {
    /// Accepts connections until the service stops. Mail that is being received is finished first.
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
                    // Most likely out of file descriptors: wait for some to be closed.
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
        let seat = if self.admits(peer, here) {
            self.peers.seat(peer).ok_or("421 4.7.0 Too many connections, try again later\r\n")
        } else {
            tracing::warn!(%peer, "not a front server that may hand over mail, see ROOKERY_LMTP_PEERS");
            Err("421 4.7.0 You may not hand over mail here\r\n")
        };
        self.app.figures.mail_connected(self.protocol.as_str(), seat.is_ok());
        let seat = match seat {
            Ok(seat) => seat,
            Err(answer) => {
                let _ = wire.say(answer).await;
                wire.close().await;
                return;
            }
        };
        let protocol = self.protocol;
        // If the connection broke, the client tries again; there is nothing to do here.
        let _ = MailSession::new(self, peer, protocol, seat).run(wire).await;
    }
}
