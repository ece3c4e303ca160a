//! Under systemd: the service takes the socket that it is handed, and says when it is ready and when it stops. Two sockets of
//! one name are refused.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use rookery_world::site::Site;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_systemd_opened_is_served_and_readiness_is_told() {
    let site = Site::migrated().await;
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let manager = UnixDatagram::bind(site.folder.join("notify")).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let heard = || {
        let mut words = [0; 512];
        let length = manager.recv(&mut words).expect("the service speaks");
        String::from_utf8_lossy(&words[..length]).into_owned()
    };

    // A handed-over socket is descriptor 3.
    let mut service = handing_over(&site, "exec 3<&0 0</dev/null")
        .envs([("LISTEN_FDS", "1"), ("LISTEN_FDNAMES", "http"), ("WATCHDOG_USEC", "2000000")])
        .env("NOTIFY_SOCKET", site.folder.join("notify"))
        // Nobody listens there: the socket is the one that was handed over.
        .env("ROOKERY_LISTEN", "127.0.0.1:1")
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(heard().starts_with("READY=1\nSTATUS=Serving "));
    assert_eq!(heard(), "WATCHDOG=1");
    let ready = site.http.get(format!("http://{address}/readyz")).send().await.unwrap();
    assert_eq!(ready.status(), 200);

    let told = Command::new("kill").args(["-TERM", &service.id().to_string()]).status().unwrap();
    assert!(told.success());
    let last = std::iter::repeat_with(heard).find(|words| words != "WATCHDOG=1").unwrap();
    assert_eq!(last, "STOPPING=1");
    assert!(service.wait().unwrap().success());
}

/// A .socket unit with two `ListenStream=` hands over two sockets of one name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sockets_of_one_name_are_refused() {
    let site = Site::migrated().await;
    let (one, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let refused = handing_over(&site, "exec 3<&0 4<&1 0</dev/null 1>/dev/null")
        .envs([("LISTEN_FDS", "2"), ("LISTEN_FDNAMES", "http:http")])
        .stdin(Stdio::from(OwnedFd::from(one)))
        .stdout(Stdio::from(OwnedFd::from(other)))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && why.contains("two sockets named http"), "{why}");
}

/// `rookery serve` behind a line of shell that puts descriptors where they belong, as the process that may take them.
fn handing_over(site: &Site, descriptors: &str) -> Command {
    let plain = site.command(&["serve"]);
    let mut command = Command::new("sh");
    let script = format!("{descriptors}; export LISTEN_PID=$$; exec \"$0\" serve");
    command
        .args(["-c", &script, plain.get_program().to_str().unwrap()])
        .current_dir(&site.folder)
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}
