//! What a service manager hands to the program, and what it is told: sockets that systemd opened (so that port 25 needs no
//! right of ours), and words by `sd_notify` that the service is ready, is stopping, or still runs (watchdog).
//! Without a manager there are no sockets and nobody is told.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::time::Duration;

use listenfd::ListenFd;

use crate::error::{Error, Result};

#[derive(Default)]
pub struct Systemd {
    /// Sockets by the name that their unit gives them (`FileDescriptorName=`).
    sockets: HashMap<String, TcpListener>,
    manager: Option<UnixAddress>,
    watchdog: Option<Duration>,
}

impl Systemd {
    /// Reads what the environment names. Sockets can be taken once in the life of a process.
    pub fn find(environment: &HashMap<String, String>) -> Result<Self> {
        let names = environment.get("LISTEN_FDNAMES").map(String::as_str).unwrap_or_default();
        let (mut sockets, mut handed) = (HashMap::new(), ListenFd::from_env());
        for (number, name) in names.split(':').enumerate().take(handed.len()) {
            let unusable = |error: io::Error| {
                Error::internal(format!(
                    "The socket {name} that systemd hands over cannot be used ({error}). Check its .socket unit."
                ))
            };
            if let Some(socket) = handed.take_tcp_listener(number).map_err(unusable)? {
                socket.set_nonblocking(true).map_err(unusable)?;
                if sockets.insert(name.to_owned(), socket).is_some() {
                    // Whoever connects to the other would wait for ever.
                    return Err(Error::internal(format!(
                        "systemd hands over two sockets named {name}, and one of each is served. Leave one ListenStream= in \
                         its .socket unit: a port without an address is open for IPv4 and IPv6."
                    )));
                }
            }
        }
        let manager = environment.get("NOTIFY_SOCKET").and_then(|name| address(name));
        Ok(Self { sockets, manager, watchdog: watchdog(environment) })
    }

    /// Where a socket listens that was handed over.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        self.sockets.get(name).and_then(|socket| socket.local_addr().ok())
    }

    pub fn take(&mut self, name: &str) -> Option<TcpListener> {
        self.sockets.remove(name)
    }

    /// The names of sockets that nobody took.
    pub fn left(&self) -> Vec<&str> {
        self.sockets.keys().map(String::as_str).collect()
    }

    /// How often the manager wants to hear that we still run: twice in its patience.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Tells the manager; whether it listens is its own affair.
    pub fn tell(&self, words: &str) {
        let Some(manager) = &self.manager else { return };
        let told = UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(words.as_bytes(), manager));
        if let Err(error) = told {
            tracing::warn!(%error, "cannot notify the service manager");
        }
    }
}

/// A path, or a name without one behind an `@`.
fn address(name: &str) -> Option<UnixAddress> {
    match name.strip_prefix('@') {
        Some(name) => UnixAddress::from_abstract_name(name).ok(),
        None if name.starts_with('/') => UnixAddress::from_pathname(name).ok(),
        None => None,
    }
}

fn watchdog(environment: &HashMap<String, String>) -> Option<Duration> {
    let ours =
        environment.get("WATCHDOG_PID").is_none_or(|process| process.parse() == Ok(std::process::id()));
    let microseconds: u64 = environment.get("WATCHDOG_USEC")?.parse().ok()?;
    (ours && microseconds > 0).then(|| Duration::from_micros(microseconds) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_manager_is_told_by_path_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("rookery-test-{}", std::process::id());
        let by_path = UnixDatagram::bind(&path).unwrap();
        let by_name = UnixDatagram::bind_addr(&UnixAddress::from_abstract_name(&name).unwrap()).unwrap();
        for (socket, address) in [(by_path, path.to_str().unwrap().to_owned()), (by_name, format!("@{name}"))]
        {
            let systemd = Systemd::find(&environment(&[("NOTIFY_SOCKET", &address)])).unwrap();
            systemd.tell("READY=1");
            let mut heard = [0; 16];
            let length = socket.recv(&mut heard).unwrap();
            assert_eq!(&heard[..length], b"READY=1", "{address}");
        }
    }

    #[test]
    fn without_a_manager_nothing_is_there() {
        let mut systemd = Systemd::find(&environment(&[("LISTEN_FDNAMES", "smtp")])).unwrap();
        assert!(systemd.take("smtp").is_none() && systemd.watchdog().is_none() && systemd.left().is_empty());
        systemd.tell("READY=1");
    }

    #[test]
    fn the_watchdog_of_another_process_is_not_ours() {
        let own = std::process::id().to_string();
        for (process, expected) in [(own.as_str(), Some(15)), ("1", None)] {
            let given = environment(&[("WATCHDOG_USEC", "30000000"), ("WATCHDOG_PID", process)]);
            assert_eq!(watchdog(&given), expected.map(Duration::from_secs), "{process}");
        }
        assert_eq!(watchdog(&environment(&[("WATCHDOG_USEC", "x")])), None);
    }
}
