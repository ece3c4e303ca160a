//! The address guard fully on: no network is opened. In a network of its own (`unshare`), public-looking
//! addresses stand on the loopback device, knot answers for the names, and every receiver speaks TLS with a
//! certificate of a test authority. So what would go out to the world arrives here, and so would what must not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;

use rookery_world::cluster::cluster;
use rookery_world::site::{SECRET_KEY, Site, text};

const PUBLIC: &str = "93.184.216.34";
const PUBLIC_V6: &str = "2606:2800:220:1::1";
const FOLDER: &str = "GUARD_FOLDER";
const DATABASE: &str = "GUARD_DATABASE_URL";

/// proves: WH-2, WH-3, WH-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_reach_public_https_addresses_and_nothing_else() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    fs::write(site.folder.join("workspace"), format!("{workspace} {owner}")).unwrap();
    // The database is outside that network; a socket in the folder leads to it.
    let socket = site.folder.join(".s.PGSQL.5432");
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    let port = cluster().port();
    tokio::spawn(async move {
        while let Ok((mut inside, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut outside = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = copy_bidirectional(&mut inside, &mut outside).await;
            });
        }
    });
    let url =
        format!("postgres://postgres@localhost/{}?host={}", site.database.name(), site.folder.display());
    let mut told = Command::new("unshare");
    told.args(["-Urnm", "--map-root-user"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "webhooks::guard::inside_a_network_of_its_own", "--ignored", "--nocapture"])
        .env(FOLDER, &site.folder)
        .env(DATABASE, url);
    let told = tokio::task::spawn_blocking(move || told.output()).await.unwrap();
    let told = told.expect("unshare runs (util-linux)");
    let output = String::from_utf8_lossy(&told.stdout) + String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && output.contains("1 passed"), "{output}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs inside the network that the test above makes"]
async fn inside_a_network_of_its_own() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let net = Net::start(PathBuf::from(folder)).await;

    // A public name and a public address, by IPv4 and IPv6.
    for (host, arrives_at) in [
        ("public.hooks.example", PUBLIC),
        ("six.hooks.example", PUBLIC_V6),
        (PUBLIC, PUBLIC),
        (&format!("[{PUBLIC_V6}]"), PUBLIC_V6),
    ] {
        let webhook = net.make(host).unwrap();
        assert_eq!(net.deliver(&webhook).await["status"], 200, "{host}");
        assert_eq!(net.arrived(), [arrives_at.to_owned()], "{host}");
    }
    let webhook = net.make("stranger.example").unwrap();
    assert_eq!(net.deliver(&webhook).await["error"], "TLS failed", "the certificate is for another name");

    for host in [
        "private.hooks.example",
        "loop.hooks.example",
        "link.hooks.example",
        "carrier.hooks.example",
        "unique.hooks.example",
        "mapped.hooks.example",
        "nat64.hooks.example",
        "sixtofour.hooks.example",
        "mixed.hooks.example",
        "alias.hooks.example",
        "printer.local",
        "metadata.internal",
        "localhost",
        "10.0.0.5",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "[::ffff:10.0.0.5]",
        "[fd00::5]",
        "[64:ff9b::a00:5]",
        "[2002:a00:5::1]",
    ] {
        let refusal = net.make(host).unwrap_err();
        assert!(refusal.contains("must lead to a public address"), "{host}: {refusal}");
    }
    assert!(net.make("missing.hooks.example").unwrap_err().contains("name that can be found"));

    // A name that changes its mind between the check at creation and the send, and again while a connection
    // to its public address is still open.
    let webhook = net.make("rebinding.hooks.example").unwrap();
    net.point("rebinding", "10.0.0.5");
    assert_eq!(net.deliver(&webhook).await["error"], "address refused");
    net.point("rebinding", PUBLIC);
    assert_eq!(net.deliver(&webhook).await["status"], 200);
    net.point("rebinding", "127.0.0.1");
    assert_eq!(net.deliver(&webhook).await["error"], "address refused");
    assert_eq!(net.arrived(), [PUBLIC.to_owned()]);

    // A redirect is an answer like any other, and leads nowhere.
    *net.redirect.lock().unwrap() = Some("https://10.0.0.5/".into());
    let webhook = net.make("public.hooks.example").unwrap();
    assert_eq!(net.deliver(&webhook).await["status"], 302);
    assert_eq!(net.arrived(), [PUBLIC.to_owned()]);
}

/// A network with its names, its receivers and one `rookery serve`.
struct Net {
    folder: PathBuf,
    url: String,
    workspace: String,
    owner: String,
    /// The local address of every request.
    arrived: Arc<Mutex<Vec<String>>>,
    redirect: Arc<Mutex<Option<String>>>,
    children: Vec<Child>,
}

impl Net {
    async fn start(folder: PathBuf) -> Self {
        sh(&folder, ADDRESSES);
        fs::write(folder.join("knot.conf"), KNOT).unwrap();
        fs::write(folder.join("example.zone"), ZONE).unwrap();
        sh(&folder, CERTIFICATES);
        let mut knot = Command::new("knotd");
        knot.args(["-c", "knot.conf"]).current_dir(&folder).stdout(Stdio::null());
        let knot = quiet(&mut knot).spawn().expect("knotd runs (knot)");
        let url = std::env::var_os(DATABASE).unwrap().into_string().unwrap();
        let place = fs::read_to_string(folder.join("workspace")).unwrap();
        let (workspace, owner) = place.split_once(' ').unwrap();
        let mut net = Self {
            url,
            workspace: workspace.into(),
            owner: owner.into(),
            arrived: Arc::default(),
            redirect: Arc::default(),
            children: vec![knot],
            folder,
        };
        net.listen().await;
        wait_until(|| sh_answers(&net.folder, "kdig +short @127.0.0.53 public.hooks.example | grep -q ."))
            .await;
        let log = fs::File::create(net.folder.join("serve.log")).unwrap();
        let serve = net.rookery(&["serve"]).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        net.children.push(serve);
        net
    }

    fn rookery(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(rookery_world::program());
        command.args(arguments).current_dir(&self.folder).env_clear().envs([
            ("ROOKERY_DATABASE_URL", self.url.as_str()),
            ("ROOKERY_BLOBS", &format!("file://{}", self.folder.join("blobs").display())),
            ("ROOKERY_SECRET_KEY", SECRET_KEY),
            ("ROOKERY_TRUST_CA_FILE", "ca.pem"),
            ("ROOKERY_LISTEN", "127.0.0.1:8080"),
        ]);
        command
    }

    fn admin(&self, arguments: &[&str]) -> Result<Value, String> {
        let output = self.rookery(&[&["admin", "--json"], arguments].concat()).output().unwrap();
        if output.status.success() {
            Ok(serde_json::from_slice(&output.stdout).unwrap())
        } else {
            Err(String::from_utf8(output.stderr).unwrap())
        }
    }

    fn make(&self, host: &str) -> Result<String, String> {
        let url = format!("https://{host}/hook");
        let made = self.admin(&[
            "create-webhook",
            "--workspace",
            &self.workspace,
            "--maker",
            &self.owner,
            "--url",
            &url,
            "--mode",
            "live",
            "--scope",
            "team",
        ])?;
        Ok(text(&made, "webhook"))
    }

    /// Sends a test event and gives its first try.
    async fn deliver(&self, webhook: &str) -> Value {
        let one = ["--workspace", &self.workspace, "--webhook", webhook];
        let event = text(&self.admin(&[&["test-webhook"], one.as_slice()].concat()).unwrap(), "event");
        let started = Instant::now();
        loop {
            let log = self.admin(&[&["webhook-log"], one.as_slice()].concat()).unwrap();
            let entries = log["deliveries"].as_array().unwrap().clone();
            let entry = entries.into_iter().find(|entry| entry["event"] == *event).expect("it is in the log");
            if let Some(first) = entry["tries"].get(0) {
                return first.clone();
            }
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "not tried: {}",
                fs::read_to_string(self.folder.join("serve.log")).unwrap()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn arrived(&self) -> Vec<String> {
        std::mem::take(&mut self.arrived.lock().unwrap())
    }

    /// Changes what a name leads to.
    fn point(&self, name: &str, address: &str) {
        let update = format!(
            "server 127.0.0.53\nzone example\nupdate delete {name}.hooks.example. A\n\
             update add {name}.hooks.example. 0 A {address}\nsend\n"
        );
        fs::write(self.folder.join("update"), update).unwrap();
        sh(&self.folder, "knsupdate update");
        assert!(sh_answers(
            &self.folder,
            &format!("kdig +short @127.0.0.53 {name}.hooks.example | grep -qx {address}")
        ));
    }

    /// On every address there is, of both families.
    async fn listen(&self) {
        let socket = TcpListener::bind("[::]:443").await.unwrap();
        let acceptor = acceptor(&self.folder);
        let (arrived, redirect) = (self.arrived.clone(), self.redirect.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                let (acceptor, arrived, redirect) = (acceptor.clone(), arrived.clone(), redirect.clone());
                tokio::spawn(async move {
                    let at = stream.local_addr().unwrap().ip().to_canonical().to_string();
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    // Requests are small and come one at a time, each in one piece.
                    let mut bytes = vec![0; 64 << 10];
                    while let Ok(1..) = stream.read(&mut bytes).await {
                        arrived.lock().unwrap().push(at.clone());
                        let answer = match redirect.lock().unwrap().clone() {
                            Some(to) => {
                                format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
                            }
                            None => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(),
                        };
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn acceptor(folder: &Path) -> TlsAcceptor {
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(folder.join("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stderr(Stdio::null()).stdin(Stdio::null())
}

fn sh(folder: &Path, script: &str) {
    let done = Command::new("sh").args(["-euc", script]).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{script}: {done:?}");
}

fn sh_answers(folder: &Path, script: &str) -> bool {
    quiet(Command::new("sh").args(["-c", script]).current_dir(folder)).status().unwrap().success()
}

async fn wait_until(holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "it took too long");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Public and private addresses alike stand here, so that whatever is sent to one of them would arrive.
const ADDRESSES: &str = "
ip link set lo up
for address in 93.184.216.34/32 10.0.0.5/32 169.254.169.254/32 100.64.0.5/32; do ip addr add $address dev lo; done
for address in 2606:2800:220:1::1/128 fd00::5/128 64:ff9b::a00:5/128 2002:a00:5::1/128; do
    ip -6 addr add $address dev lo nodad
done
echo 'nameserver 127.0.0.53' >resolv.conf
mount --bind resolv.conf /etc/resolv.conf
";

const KNOT: &str = "
server:
    rundir: .
    listen: 127.0.0.53@53
database:
    storage: .
log:
  - target: knot.log
    any: warning
acl:
  - id: here
    address: 127.0.0.0/8
    action: update
zone:
  - domain: example
    storage: .
    file: example.zone
    acl: here
    zonefile-load: whole
    zonefile-sync: -1
  - domain: local
    storage: .
    file: example.zone
  - domain: internal
    storage: .
    file: example.zone
";

const ZONE: &str = "
$TTL 0
@ SOA ns hostmaster 1 3600 600 86400 0
@ NS ns
ns A 127.0.0.53
public.hooks A 93.184.216.34
six.hooks AAAA 2606:2800:220:1::1
stranger A 93.184.216.34
private.hooks A 10.0.0.5
loop.hooks A 127.0.0.1
link.hooks A 169.254.169.254
carrier.hooks A 100.64.0.5
unique.hooks AAAA fd00::5
mapped.hooks AAAA ::ffff:10.0.0.5
nat64.hooks AAAA 64:ff9b::a00:5
sixtofour.hooks AAAA 2002:a00:5::1
mixed.hooks A 93.184.216.34
mixed.hooks AAAA fd00::5
alias.hooks CNAME private.hooks
rebinding.hooks A 93.184.216.34
printer A 93.184.216.34
metadata A 93.184.216.34
";

const CERTIFICATES: &str = "
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=Test \
    -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=hooks.example \
    -keyout server.key -out server.csr 2>/dev/null
printf 'subjectAltName=DNS:*.hooks.example,IP:93.184.216.34,IP:2606:2800:220:1::1\nextendedKeyUsage=serverAuth\n' >server.ext
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext \
    -out server.pem 2>/dev/null
";
