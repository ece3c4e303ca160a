//! A server where everything is as it should be: a durable cluster with archiving, a proxy with a certificate, names, mail
//! doors, a relay, a sending domain, a file, an erasure, and a backup that was proven.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rookery::routes;
use rookery::worker;
use rookery_base::app::App;
use rookery_base::cells::Cells;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::confined::run::Confined;
use rookery_base::ids::{ErasureId, Id, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_base::store::partitions;
use rookery_core::workspace::access::By;
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::{create, mailboxes};
use rookery_http::connections::Connections;
use rookery_http::serve;
use rookery_mail::incoming::listen::{Door, Protocol};
use rookery_mail::outgoing::domain::{self, Domain};
use rookery_upkeep::backups::{create as backup, verify};
use rookery_upkeep::doctor::examine::examine;
use rookery_upkeep::doctor::given::Given;
use rookery_upkeep::doctor::row::DoctorReport;
use rookery_upkeep::erasures::list;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use rookery_world::cluster::{Cluster, Settings, TestDatabase};
use rookery_world::sink::Sink;
use rookery_world::zone::Zone;

pub const OLD_KEY: &str = "old:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
pub const NEW_KEY: &str = "new:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
const BACKUP_KEY: &str = "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=";
/// Of a network that is for documentation: nobody is there.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
/// Of this machine, and nothing listens there.
pub const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// `site` and `other` are good for ninety days, `short` for five; `other` is for another name.
const CERTIFICATES: &str = "
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 100 -subj /CN=Test \
    -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem 2>/dev/null
for name in site short other; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name -keyout $name.key -out $name.csr 2>/dev/null
    names='DNS:desk.acme.example,DNS:mail.acme.example'; days=90
    [ $name != other ] || names='DNS:elsewhere.example'
    [ $name != short ] || days=5
    printf 'subjectAltName=%s\\nextendedKeyUsage=serverAuth\\n' $names >$name.ext
    openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days $days -extfile $name.ext -out $name.crt 2>/dev/null
    cat $name.crt ca.pem >$name.pem
done
";

pub struct Healthy {
    pub cluster: Cluster,
    pub database: TestDatabase,
    pub folder: tempfile::TempDir,
    pub zone: Zone,
    pub relay: Sink,
    pub workspace: WorkspaceId,
    /// Where the service listens without the proxy.
    pub plain: SocketAddr,
    pub smtp: SocketAddr,
    /// Behind a certificate that ends soon.
    pub short: SocketAddr,
    /// The proxy passes another host on.
    pub renames: Arc<AtomicBool>,
    domain: Domain,
    settings: Vec<(String, String)>,
}

impl Healthy {
    pub async fn start() -> Self {
        let durable = Settings {
            durable: true,
            in_memory: true,
            shared_buffers: "64MB",
            keep: None,
            more: &["archive_mode = on", "archive_command = '/bin/true'", "max_prepared_transactions = 5"],
        };
        let cluster = tokio::task::spawn_blocking(move || Cluster::start(&durable)).await.unwrap();
        let database = cluster.database("template1").await;
        let pool = sqlx::PgPool::connect(database.url()).await.unwrap();
        MIGRATIONS.run(&pool).await.unwrap();
        partitions::maintain(&mut pool.acquire().await.unwrap()).await.unwrap();
        pool.close().await;
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("sh").args(["-euc", CERTIFICATES]).current_dir(&folder).output().unwrap();
        assert!(made.status.success(), "{made:?}");

        let (zone, relay) = (Zone::start().await, Sink::start().await);
        let [plain, proxy, short, smtp] =
            [listener().await, listener().await, listener().await, listener().await];
        let at = |name: &str| folder.path().join(name).display().to_string();
        let address = |listener: &TcpListener| listener.local_addr().unwrap();
        let settings: Vec<(String, String)> = [
            ("DATABASE_URL", database.url().to_owned()),
            ("DATABASE_CONNECTIONS", "10".to_owned()),
            ("BLOBS", format!("file://{}", at("blobs"))),
            ("SECRET_KEY", OLD_KEY.to_owned()),
            ("PUBLIC_URL", format!("https://desk.acme.example:{}", address(&proxy).port())),
            ("MAIL_NAME", "mail.acme.example".to_owned()),
            ("DNS", zone.address.to_string()),
            ("TRUST_CA_FILE", at("ca.pem")),
            ("TLS_CERTIFICATE", at("site.pem")),
            ("TLS_KEY", at("site.key")),
            ("SMTP_LISTEN", address(&smtp).to_string()),
            ("RELAY", format!("smtp://desk:secret@127.0.0.1:{}?tls=none", relay.port)),
            ("BACKUPS", at("backups")),
            ("BACKUP_KEY", BACKUP_KEY.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let app = Arc::new(app(&settings));
        let renames = Arc::<AtomicBool>::default();
        let (plain_at, smtp_at, short_at) = (address(&plain), address(&smtp), address(&short));
        tokio::spawn(front(proxy, acceptor(folder.path(), "site"), plain_at, renames.clone()));
        tokio::spawn(front(short, acceptor(folder.path(), "short"), plain_at, Arc::default()));
        let router = routes::router(app.clone());
        tokio::spawn(serve::serve(plain, router, Connections::from_config(&app.config), app.stop.clone()));
        tokio::spawn(
            Door::open(Arc::new(Cells::new(vec![app.clone()])), Protocol::Smtp).unwrap().serve(smtp),
        );

        let made = create::create(&app, "Acme", Plan::Pro, "olga@acme.example", "Olga").await.unwrap();
        let workspace = made.workspace;
        mailboxes::create(&app, workspace, &By::System, "help@acme.example", "Help", None).await.unwrap();
        let domain = domain::add(&app, workspace, &By::System, "acme.example").await.unwrap();
        let erasure = ErasureId::mint(app.clock.now(), &app.random);
        list::keep(&app, workspace, erasure, &[7; 32]).await.unwrap();
        let blob = app.blobs.put(workspace, "documents", [Bytes::from_static(b"abc")]).await.unwrap();
        let healthy = Self {
            cluster,
            database,
            folder,
            zone,
            relay,
            workspace,
            plain: plain_at,
            smtp: smtp_at,
            short: short_at,
            renames,
            domain,
            settings,
        };
        healthy.names(&[]);
        healthy
            .sql(&format!(
                "insert into documents (workspace_id, id, audience, title, filename, content_type, size, content_hash, blob,
                     created_at, searched, pieces)
                 values ({}, 7, 0, 'A file', 'a.txt', 'text/plain', 3, decode(repeat('00', 32), 'hex'), '{}', now(), '', '{{}}')",
                workspace.0, blob.key
            ))
            .await;
        worker::run_once(&app).await.unwrap();
        backup::create(&app, &|_, _| {}).await.unwrap();
        verify::verify(&app, None, &|_, _| {}).await.unwrap();
        healthy
    }

    /// The names of everything, without some.
    pub fn names(&self, without: &[&str]) {
        let zone = &self.zone;
        zone.clear();
        let has = |what: &str| !without.contains(&what);
        zone.address("desk.acme.example", Ipv4Addr::LOCALHOST);
        zone.address("relay.acme.example", Ipv4Addr::LOCALHOST);
        if has("mail-name") {
            let here = if has("port-25-in") { Ipv4Addr::LOCALHOST } else { ELSEWHERE };
            zone.address("mail.acme.example", here);
            if has("port-25-in") {
                zone.address("mail.acme.example", PUBLIC);
            }
        }
        if has("mail-pointer") {
            zone.pointer(PUBLIC, "mail.acme.example");
        }
        zone.address("mx.acme.example", if has("port-25-out") { Ipv4Addr::LOCALHOST } else { ELSEWHERE });
        for row in self.domain.rows(&config(&self.settings)) {
            match row.purpose {
                purpose if without.contains(&purpose) => {}
                "MX" => zone.mail_server(&row.name, "mx.acme.example."),
                _ => zone.text(&row.name, &row.value),
            }
        }
    }

    pub fn given(&self) -> Given {
        Given {
            mail_port: self.smtp.port(),
            // A machine that runs other tests may be slow.
            patience: Duration::from_secs(60),
            descriptors: 65_536,
            least_free: 1,
            least_backup_room: 1,
            least_inodes: 0,
            tesseract: None,
            ..Given::default()
        }
    }

    /// With some settings changed; an empty one is taken out.
    pub fn app(&self, changed: &[(&str, &str)]) -> App {
        let kept = self.settings.iter().filter(|(name, _)| changed.iter().all(|(other, _)| other != name));
        let changed = changed.iter().filter(|(_, value)| !value.is_empty());
        let changed = changed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings: Vec<_> = kept.cloned().chain(changed).collect();
        let mut app = app(&settings);
        app.confined = Confined::by(rookery_world::program());
        app
    }

    pub async fn examine(&self, changed: &[(&str, &str)], given: &Given) -> DoctorReport {
        self.examine_app(self.app(changed), given).await
    }

    pub async fn examine_app(&self, app: App, given: &Given) -> DoctorReport {
        let _ = app.loop_lags.set(|app| Box::pin(worker::metrics::lags(app)));
        let report = examine(&app, given).await;
        app.pool.close().await;
        report
    }

    /// Exactly this row is wrong now, and says what mends it.
    pub async fn only(&self, name: &str) {
        self.off(name, &[], self.given()).await;
    }

    /// Exactly this row is wrong with these settings.
    pub async fn breaks(&self, name: &str, changed: &[(&str, &str)]) {
        self.off(name, changed, self.given()).await;
    }

    /// The same with something else than settings.
    pub async fn off(&self, name: &str, changed: &[(&str, &str)], given: Given) {
        self.off_app(name, self.app(changed), given).await;
    }

    pub async fn off_app(&self, name: &str, app: App, given: Given) {
        let report = self.examine_app(app, &given).await;
        let wrong: Vec<_> = report.rows.iter().filter(|row| !row.ok).collect();
        let kinds: Vec<&str> = wrong.iter().map(|row| row.kind()).collect();
        assert_eq!(kinds, [name], "{wrong:#?}");
        assert!(wrong[0].fix.len() > 10 && !wrong[0].found.is_empty(), "{wrong:#?}");
    }

    /// Nothing is left broken.
    pub async fn is_well(&self) {
        self.is_well_with(&[]).await;
    }

    pub async fn is_well_with(&self, changed: &[(&str, &str)]) {
        let report = self.examine(changed, &self.given()).await;
        let wrong: Vec<_> = report.rows.iter().filter(|row| !row.ok).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    pub async fn sql(&self, statements: &str) {
        let mut conn = PgConnection::connect(self.database.url()).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut conn).await.expect(statements);
        conn.close().await.unwrap();
    }

    /// Puts a function before PostgreSQL's own, for whoever connects from now on.
    pub async fn shadow(&self, function: &str) {
        let name = self.database.name();
        let statements = format!(
            "create schema shifted; create function shifted.{function};
             alter database {name} set search_path = shifted, pg_catalog, public"
        );
        self.sql(&statements).await;
    }

    pub async fn unshadow(&self) {
        let name = self.database.name();
        self.sql(&format!("alter database {name} reset search_path; drop schema shifted cascade")).await;
    }

    /// Changes a setting of the whole cluster, and waits until it is in force.
    pub async fn alter_system(&self, name: &str, value: &str) {
        self.sql(&format!("alter system set {name} = '{value}'")).await;
        self.sql("select pg_reload_conf()").await;
        for _ in 0..100 {
            let mut conn = PgConnection::connect(self.database.url()).await.unwrap();
            let now: String = sqlx::query_scalar("select current_setting($1)")
                .bind(name)
                .fetch_one(&mut conn)
                .await
                .unwrap();
            conn.close().await.unwrap();
            if now == value {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{name} is not {value}");
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn config(settings: &[(String, String)]) -> Config {
    let given = settings.iter().map(|(name, value)| (format!("ROOKERY_{name}"), value.clone()));
    Config::load(None, given).expect("the settings are sound")
}

fn app(settings: &[(String, String)]) -> App {
    App::new(config(settings), Clock::system(), Random::system()).expect("an app")
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a free port")
}

fn acceptor(folder: &Path, name: &str) -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(folder.join(format!("{name}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    Arc::new(config).into()
}

/// A proxy with a certificate. It passes on what it hears, or with another host.
async fn front(listener: TcpListener, tls: TlsAcceptor, to: SocketAddr, renames: Arc<AtomicBool>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, renames) = (tls.clone(), renames.clone());
        tokio::spawn(async move {
            let Ok(mut client) = tls.accept(stream).await else { return };
            let Ok(mut server) = TcpStream::connect(to).await else { return };
            let mut head = vec![0; 16 << 10];
            let Ok(read) = client.read(&mut head).await else { return };
            let mut head = String::from_utf8_lossy(&head[..read]).into_owned();
            if renames.load(Ordering::SeqCst) {
                head = head.replace("desk.acme.example", "other.acme.example");
            }
            if server.write_all(head.as_bytes()).await.is_ok() {
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}

/// A way to a server on which every answer is late.
pub async fn slow(to: SocketAddr, delay: Duration) -> SocketAddr {
    let listener = listener().await;
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(to).await else { return };
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
            tokio::spawn(async move {
                let mut piece = vec![0; 64 << 10];
                while let Ok(read) = from_server.read(&mut piece).await {
                    tokio::time::sleep(delay).await;
                    if read == 0 || to_client.write_all(&piece[..read]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
