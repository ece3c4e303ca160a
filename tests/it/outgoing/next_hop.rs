//! The TLS requirements of a relay's name: DANE and MTA-STS, with a real DNS server, real certificates and a real
//! relay, also behind an attacker who strips STARTTLS.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::net::outside::Outside;
use rookery_base::relay::Relay;
use rookery_base::relay::mailer::{Copies, FinalMail, Handover, Mailer, OutgoingLetter};
use rookery_base::secrets::secret::Secret;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use rookery_world::sink::{Does, Sink, Step};
use rookery_world::zone::Zone;

const HOST: &str = "mx.acme.example";

/// `site` is signed by `ca`; `own` by nobody but itself; `other` by `ca` for another name.
const CERTIFICATES: &str = "
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=Test \
    -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem 2>/dev/null
for name in site other; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name -keyout $name.key -out $name.csr 2>/dev/null
    names='DNS:mx.acme.example,DNS:mta-sts.acme.example'
    [ $name = site ] || names='DNS:elsewhere.example'
    printf 'subjectAltName=%s\\nextendedKeyUsage=serverAuth\\n' $names >$name.ext
    openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext -out $name.crt 2>/dev/null
    cat $name.crt ca.pem >$name.pem
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=own -keyout own.key -out own.pem 2>/dev/null
for name in ca site other own; do
    from=$name.pem; [ -e $name.crt ] && from=$name.crt
    openssl x509 -in $from -pubkey -noout | openssl pkey -pubin -outform DER -out $name.spki
    openssl x509 -in $from -outform DER -out $name.der
done
";

struct Scene {
    zone: Zone,
    sink: Sink,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("sh").args(["-euc", CERTIFICATES]).current_dir(&folder).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let scene = Self { zone: Zone::start().await, sink: Sink::start().await, folder };
        scene.nothing();
        scene
    }

    /// Only where the relay is.
    fn nothing(&self) {
        self.zone.clear();
        for host in [HOST, "mx.unsigned.example", "mx.broken.example"] {
            self.zone.address(host, Ipv4Addr::LOCALHOST);
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.file(name)).unwrap()
    }

    fn acceptor(&self, name: &str) -> TlsAcceptor {
        let chain = CertificateDer::pem_file_iter(self.file(&format!("{name}.pem"))).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.file(&format!("{name}.key"))).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.map(Result::unwrap).collect(), key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    /// The relay shows this certificate, or offers no encryption.
    fn shows(&self, certificate: Option<&str>) {
        self.sink.encrypts(certificate.map(|name| self.acceptor(name)));
    }

    fn tlsa(&self, kind: (u8, u8, u8), data: Vec<u8>) {
        self.zone.tlsa(&format!("_{}._tcp.{HOST}", self.sink.port), kind, data);
    }

    /// What comes of one mail to the relay of this name, with `tls=` as given.
    async fn sends(&self, host: &str, tls: &str, policy_port: u16) -> (Handover, usize, usize) {
        let before = (self.sink.taken().len(), self.sink.encrypted());
        let address = Secret(format!("smtp://{host}:{}?tls={tls}", self.sink.port));
        let authority = self.file("ca.pem");
        let dns = [self.zone.address];
        let allow = vec!["127.0.0.0/8".parse().unwrap()];
        let outside = Outside::new(allow, &dns, Some(&authority), Duration::from_secs(5)).unwrap();
        let relay =
            Relay::new(&address, "desk.example".into(), Some(&authority), TimeDelta::seconds(40)).unwrap();
        let relay = relay.with_tls_policy(&dns, Arc::new(outside), policy_port).unwrap();
        let letter = OutgoingLetter {
            workspace: WorkspaceId(1),
            conversation: ConversationId(1),
            message: MessageId(1),
            rfc_message_id: "1@acme.example".into(),
            from_name: None,
            from: "help@acme.example".into(),
            to: "ada@customer.example".into(),
            copies: Copies::default(),
            subject: "Hi".into(),
            text: "Hi".into(),
        };
        let raw = b"Subject: Hi\r\n\r\nHi\r\n".to_vec();
        let mail =
            FinalMail { return_path: letter.from.clone(), to: letter.to.clone(), copies_to: Vec::new(), raw };
        let done = relay.hand_over(&letter, &mail).await.unwrap();
        (done, self.sink.taken().len() - before.0, self.sink.encrypted() - before.1)
    }
}

const ENCRYPTED: (Handover, usize, usize) = (Handover::Accepted, 1, 1);
const IN_CLEAR: (Handover, usize, usize) = (Handover::Accepted, 1, 0);
/// Nobody serves policies there.
const NOWHERE: u16 = 9;

#[tokio::test]
async fn a_certificate_that_the_records_are_of_is_taken_and_no_other() {
    let scene = Scene::new().await;
    let sha256 = |name: &str| digest(&SHA256, &scene.bytes(name)).as_ref().to_vec();
    let sha512 = |name: &str| digest(&SHA512, &scene.bytes(name)).as_ref().to_vec();
    let cases = [
        ("own", (3, 1, 1), sha256("own.spki"), true),
        ("own", (3, 0, 1), sha256("own.der"), true),
        ("own", (3, 1, 2), sha512("own.spki"), true),
        ("own", (3, 1, 0), scene.bytes("own.spki"), true),
        ("other", (3, 1, 1), sha256("other.spki"), true), // no name counts but the record's
        ("own", (3, 1, 1), sha256("site.spki"), false),
        ("own", (3, 0, 1), sha256("own.spki"), false),
        ("site", (3, 1, 1), sha256("own.spki"), false), // not even one that an authority vouches for
        ("site", (2, 0, 1), sha256("ca.der"), true),
        ("site", (2, 1, 1), sha256("ca.spki"), true),
        ("other", (2, 1, 1), sha256("ca.spki"), false), // the authority's, for another name
        ("own", (2, 1, 1), sha256("own.spki"), false),
        ("own", (2, 1, 1), sha256("ca.spki"), false),
        // Records that SMTP cannot use still demand TLS; then the certificate is verified by the public
        // authorities.
        ("site", (1, 1, 1), sha256("own.spki"), true),
        ("own", (1, 1, 1), sha256("own.spki"), false),
    ];
    for (shown, kind, data, fits) in cases {
        scene.nothing();
        scene.tlsa(kind, data);
        scene.shows(Some(shown));
        for tls in ["opportunistic", "required", "none"] {
            let done = scene.sends(HOST, tls, NOWHERE).await;
            if fits {
                assert_eq!(done, ENCRYPTED, "{shown} {kind:?} tls={tls}");
            } else {
                assert_eq!((done.0, done.1), (Handover::Later, 0), "{shown} {kind:?} tls={tls}");
            }
        }
        scene.shows(None);
        let stripped = scene.sends(HOST, "opportunistic", NOWHERE).await;
        assert_eq!(stripped, (Handover::Later, 0, 0), "encryption was taken away: {shown} {kind:?}");
    }
}

#[tokio::test]
async fn records_that_nobody_signed_say_nothing_and_an_answer_that_fails_makes_mail_wait() {
    let scene = Scene::new().await;
    scene.zone.tlsa(&format!("_{}._tcp.mx.unsigned.example", scene.sink.port), (3, 1, 1), vec![0; 32]);
    assert_eq!(scene.sends("mx.unsigned.example", "opportunistic", NOWHERE).await, IN_CLEAR);
    assert_eq!(scene.sends("mx.broken.example", "opportunistic", NOWHERE).await, (Handover::Later, 0, 0));
    assert_eq!(scene.sends(HOST, "opportunistic", NOWHERE).await, IN_CLEAR, "without records as before");
    scene.shows(Some("site"));
    assert_eq!(scene.sends(HOST, "opportunistic", NOWHERE).await, ENCRYPTED);
    assert_eq!(scene.sends(HOST, "required", NOWHERE).await, ENCRYPTED);
    // Bytes that follow the reply to STARTTLS in the clear are injected.
    scene.sink.does(Step::Encryption, Does::Says("220 Go on\r\n250 Injected"));
    assert_eq!(scene.sends(HOST, "required", NOWHERE).await, (Handover::Later, 0, 0));
}

/// Serves one policy over https, and tells on which port.
async fn serves(scene: &Scene, certificate: &str, answer: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = scene.acceptor(certificate);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap_or_default();
            let asked = request[..read].starts_with(b"GET /.well-known/mta-sts.txt ");
            let answer =
                if asked { answer.as_str() } else { "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n" };
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    address
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn policy(mode: &str, mx: &str) -> String {
    format!("version: STSv1\r\nmode: {mode}\r\nmx: {mx}\r\nmax_age: 86400\r\n")
}

#[tokio::test]
async fn a_domains_policy_makes_encryption_a_must_for_its_servers() {
    let scene = Scene::new().await;
    scene.zone.text("_mta-sts.acme.example", "v=STSv1; id=1;");
    scene.zone.address("mta-sts.acme.example", Ipv4Addr::LOCALHOST);
    let kept = (Handover::Later, 0, 0);
    let long = policy("enforce", HOST) + &"x: y\r\n".repeat(20_000);
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: https://elsewhere.example/\r\ncontent-length: 0\r\n\r\n".to_owned();
    let cases = [
        ("site", ok(&policy("enforce", HOST)), kept),
        ("site", ok(&policy("enforce", "*.acme.example")), kept),
        ("site", ok(&policy("testing", HOST)), IN_CLEAR),
        ("site", ok(&policy("none", HOST)), IN_CLEAR),
        // A server for something else, such as handing in mail, is not meant.
        ("site", ok(&policy("enforce", "mail.acme.example")), IN_CLEAR),
        // What cannot be had in order counts for nothing.
        ("site", ok("<html>"), IN_CLEAR),
        ("site", ok(&long), IN_CLEAR),
        ("site", redirect, IN_CLEAR),
        ("own", ok(&policy("enforce", HOST)), IN_CLEAR),
        ("other", ok(&policy("enforce", HOST)), IN_CLEAR),
    ];
    for (certificate, answer, comes) in cases {
        let told = answer.chars().take(120).collect::<String>();
        let port = serves(&scene, certificate, answer).await.port();
        scene.shows(None);
        assert_eq!(scene.sends(HOST, "opportunistic", port).await, comes, "{certificate}: {told}");
        scene.shows(Some("site"));
        assert_eq!(scene.sends(HOST, "opportunistic", port).await, ENCRYPTED, "{certificate}: {told}");
    }
    // Valid for the name, not merely encrypted; and not a server that the domain does not name.
    let port = serves(&scene, "site", ok(&policy("enforce", HOST))).await.port();
    scene.shows(Some("other"));
    assert_eq!(scene.sends(HOST, "opportunistic", port).await, kept);
    let port = serves(&scene, "site", ok(&policy("enforce", "mail.acme.example"))).await.port();
    scene.zone.mail_server("acme.example", HOST);
    scene.shows(Some("site"));
    assert_eq!(
        scene.sends(HOST, "required", port).await,
        kept,
        "DNS names a server that the policy does not"
    );
}
