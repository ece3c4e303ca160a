//! `rookery serve`: the HTTP doors, the mail servers and the worker in one process, until it is told to stop. Sockets come
//! from systemd when it hands some over, and it is told when the service is ready.
//! It refuses to start on an older schema, and finishes running requests before it ends.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

use crate::cli::{migrate, reseal};
use crate::fleet;
use crate::routes;
use crate::worker::{self, supervise::supervise};
use rookery_base::app::App;
use rookery_base::cells::{self, Cells};
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::confined::run::Confined;
use rookery_base::error::{Error, Result};
use rookery_base::figures::traces;
use rookery_base::live::nodes;
use rookery_base::net::fd_limit::{self, Shares};
use rookery_base::net::outside::Outside;
use rookery_base::net::systemd::Systemd;
use rookery_base::random::Random;
use rookery_base::shutdown::Stop;
use rookery_base::store::db;
use rookery_base::store::partitions;
use rookery_core::workspace::domains::settle;
use rookery_core::workspace::people;
use rookery_http::connections::Connections;
use rookery_http::serve::serve as serve_http;
use rookery_mail::incoming::listen::{Door, LMTP_CONNECTIONS, Protocol};
use rookery_upkeep::erasures::replay;
use rookery_upkeep::moves::strays;

/// What sockets of systemd are called, beside those of mail.
const HTTP: &str = "http";
const METRICS: &str = "metrics";
/// Requests that are still running after this are cut off.
const GRACE: Duration = Duration::from_secs(20);
/// How long the collector of traces may take to answer.
const COLLECTOR: Duration = Duration::from_secs(5);
/// How long a start waits before it asks again for a directory that is away.
const DIRECTORY_AWAY: Duration = Duration::from_secs(2);
/// How long notifying other nodes of the last changes may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

pub async fn serve(mut config: Config) -> Result<()> {
    start_logging();
    for departure in config.departures() {
        tracing::warn!("NOT FOR PRODUCTION: {departure}");
    }
    config.needs_secret_key()?;
    let mut systemd = Systemd::find(&std::env::vars().collect())?;
    // What systemd opened is opened, whatever the settings say.
    config.listen = systemd.address(HTTP).unwrap_or(config.listen);
    config.metrics_listen = systemd.address(METRICS).or(config.metrics_listen);
    config.smtp_listen = systemd.address(Protocol::Smtp.as_str()).or(config.smtp_listen);
    config.lmtp_listen = systemd.address(Protocol::Lmtp.as_str()).or(config.lmtp_listen);
    share_descriptors(&mut config);
    let listen = config.listen;
    let mut apps: Vec<Arc<App>> = Vec::new();
    for config in cells::settings(&config)? {
        let mut app = App::new(config, Clock::system(), Random::system())?;
        app.confined = Confined::by_ourselves();
        if let Some(first) = apps.first() {
            app.rate = first.rate.clone();
        }
        check_the_database(&app).await?;
        apps.push(Arc::new(app));
    }
    let listener = bind(&mut systemd, HTTP, listen, "ROOKERY_LISTEN").await?;
    let drained = Stop::not_yet();
    let (mut telling, mut work) = (JoinSet::new(), JoinSet::new());
    for app in &apps {
        make_ready(app).await?;
        tokio::spawn(reseal::check(app.clone()));
        telling.spawn(tell_other_nodes(app.clone(), drained.clone()));
    }
    let cells = Arc::new(Cells::new(apps));
    let app = cells.first().clone();
    tracing::info!(address = %listen, public_url = %app.config.public_url, "serving");

    tell_who_signs_in_first(&app).await?;
    let mail = tokio::spawn(mail_doors(&cells, &mut systemd).await?);
    serve_figures(&cells, &mut systemd).await?;
    for app in cells.here() {
        send_traces(app)?;
        work.spawn(worker::run(app.clone()));
    }
    let connections = Connections::from_config(&app.config);
    let server =
        tokio::spawn(serve_http(listener, fleet::router(cells.clone()), connections, app.stop.clone()));

    if let [left, ..] = systemd.left()[..] {
        return Err(Error::internal(format!(
            "systemd hands over a socket named {left}, which nothing here listens on. Name it http, smtp, lmtp or metrics."
        )));
    }
    systemd.tell(&format!("READY=1\nSTATUS=Serving {}", app.config.public_url));
    let systemd = Arc::new(systemd);
    tokio::spawn(keep_the_watchdog(systemd.clone()));

    // A service whose worker is gone would take mail that nobody sends on: somebody has to start it anew.
    let worked = tokio::select! {
        signal = wait_for_signal() => {
            signal?;
            systemd.tell("STOPPING=1");
            drain(&app).await?;
            None
        }
        Some(ended) = work.join_next() => Some(ended.map_err(Error::internal).flatten()),
    };
    tracing::info!("stopping: running requests are finished first");
    cells.here().iter().for_each(|app| app.stop.tell());
    let finished = async {
        let _ = server.await;
        let _ = mail.await;
        let mut ended = match worked {
            Some(ended) => ended.and(Err(Error::internal("The worker has ended by itself."))),
            None => Ok(()),
        };
        while let Some(of_a_cell) = work.join_next().await {
            ended = ended.and(of_a_cell.map_err(Error::internal).flatten());
        }
        ended
    };
    let ended = tokio::time::timeout(GRACE, finished).await.unwrap_or_else(|_| {
        tracing::warn!("some requests did not finish in time and were cut off");
        Ok(())
    });
    // Changes of the requests that were finished just now are told too.
    drained.tell();
    let _ = tokio::time::timeout(LAST_WORDS, telling.join_all()).await;
    for app in cells.here() {
        app.pool.close().await;
    }
    ended
}

/// What is done in each cell before anybody is let in.
async fn make_ready(app: &Arc<App>) -> Result<()> {
    app.follow_the_databases_clock().await?;
    migrate::check_role(app).await?;
    fence(app).await?;
    partitions::maintain(&mut *app.connection().await?).await?;
    if let Err(error) = settle::settle_all(app).await {
        tracing::warn!(%error, "what the directory says of domains is looked at again later");
    }
    let erased = replay::replay(app).await?;
    if erased > 0 {
        tracing::warn!(erased, "an older backup came back: what had been erased is erased again");
    }
    Ok(())
}

/// A cell that was restored must not do what another does already. Only the directory knows, so a node that starts while it is away
/// waits for it.
async fn fence(app: &App) -> Result<()> {
    loop {
        match strays::fence(app).await {
            Err(error) if error.is_outage() => {
                let seconds = DIRECTORY_AWAY.as_secs();
                tracing::warn!(%error, seconds, "the directory is away: this node waits for it before it serves");
                tokio::time::sleep(DIRECTORY_AWAY).await;
            }
            fenced => return fenced.map(drop),
        }
    }
}

async fn check_the_database(app: &App) -> Result<()> {
    let not_ready = |error| {
        Error::internal(format!(
            "The database is not ready ({error}). Check ROOKERY_DATABASE_URL, then run: rookery migrate"
        ))
    };
    if !db::sessions_are_ours(&app.pool).await.map_err(not_ready)? {
        return Err(Error::internal(
            "Between Rookery and PostgreSQL is a pooler, such as PgBouncer. Rookery has a pool of its own, prepares its \
             statements, and hears of changes by LISTEN: put PostgreSQL's own address into ROOKERY_DATABASE_URL.",
        ));
    }
    if !db::schema_is_current(&app.pool).await.map_err(not_ready)? {
        return Err(Error::internal("The database has an older schema. Run: rookery migrate"));
    }
    Ok(())
}

/// Open pages of other nodes hear of what happens here, and the other way round.
async fn tell_other_nodes(app: Arc<App>, stop: Stop) {
    let name = "tell other nodes";
    let pass = || async {
        nodes::run(&app, &stop).await?;
        Ok(Duration::ZERO)
    };
    supervise(name, &app.loops.backoff_of(name), &stop, pass).await;
}

/// Nobody can ask for a link by mail before mail works, so the log says how the first one is made.
async fn tell_who_signs_in_first(app: &App) -> Result<()> {
    if app.directory.is_empty().await? {
        let command = "rookery admin first-owner";
        tracing::info!(
            command,
            "there is no workspace yet: this command prints a link for its first owner, who makes it"
        );
        return Ok(());
    }
    if let Some((workspace, person)) = people::first_to_sign_in(&mut *app.connection().await?).await? {
        let command = format!("rookery admin sign-in-link --workspace {workspace} --person {person}");
        tracing::info!(
            command,
            "nobody has signed in to the app yet: this command prints a link for the owner"
        );
    }
    Ok(())
}

/// Limits the connections of each listener to the file descriptors that are available.
fn share_descriptors(config: &mut Config) {
    let limit = fd_limit::raise();
    // A mail connection needs a second descriptor while it spools a large mail to a file.
    let mail = config.smtp_listen.map_or(0, |_| 2 * config.smtp_connections);
    let wanted = Shares { http: config.http_connections, mail };
    let front = config.lmtp_listen.map_or(0, |_| 2 * LMTP_CONNECTIONS as u32);
    let shares = fd_limit::share(limit, 2 * config.database_connections + front, wanted);
    if shares != wanted {
        tracing::warn!(limit, "there are few file descriptors: raise the limit to have more connections");
    }
    (config.http_connections, config.smtp_connections) = (shares.http, shares.mail / 2);
    let (http, mail) = (config.http_connections, config.smtp_connections);
    tracing::info!(limit, http, mail, "connection limits");
}

/// Binds the SMTP and LMTP listeners that are configured. The returned future runs until the service stops.
async fn mail_doors(cells: &Arc<Cells>, systemd: &mut Systemd) -> Result<impl Future<Output = ()> + use<>> {
    let app = cells.first();
    let wanted = [
        (app.config.smtp_listen, Protocol::Smtp, "ROOKERY_SMTP_LISTEN"),
        (app.config.lmtp_listen, Protocol::Lmtp, "ROOKERY_LMTP_LISTEN"),
    ];
    let mut doors = Vec::new();
    for (address, protocol, setting) in wanted {
        let Some(address) = address else { continue };
        let listener = bind(systemd, protocol.as_str(), address, setting).await?;
        tracing::info!(%address, ?protocol, "taking mail");
        doors.push(Door::open(cells.clone(), protocol)?.serve(listener));
    }
    Ok(async move {
        join_all(doors).await;
    })
}

/// The socket of that name that systemd handed over, else one of our own.
async fn bind(systemd: &mut Systemd, name: &str, address: SocketAddr, setting: &str) -> Result<TcpListener> {
    if let Some(socket) = systemd.take(name) {
        return TcpListener::from_std(socket).map_err(Error::internal);
    }
    TcpListener::bind(address).await.map_err(|error| {
        Error::internal(format!("{address} cannot be listened on ({error}). Check {setting}."))
    })
}

/// Figures have a listener of their own, so that no proxy can show them to the world by mistake. It ends with the process:
/// a node that stops is watched until it has.
async fn serve_figures(cells: &Arc<Cells>, systemd: &mut Systemd) -> Result<()> {
    let app = cells.first();
    let Some(address) = app.config.metrics_listen else { return Ok(()) };
    let listener = bind(systemd, METRICS, address, "ROOKERY_METRICS_LISTEN").await?;
    tracing::info!(%address, "showing figures");
    let (router, connections) = (routes::figures(cells.here()), Connections::from_config(&app.config));
    tokio::spawn(serve_http(listener, router, connections, Stop::not_yet()));
    Ok(())
}

/// The operator names the collector, so it may be anywhere, also in this machine and without TLS.
fn send_traces(app: &Arc<App>) -> Result<()> {
    let Some(url) = app.config.traces_url.clone() else { return Ok(()) };
    let Some(spans) = app.figures.traces.begin() else { return Ok(()) };
    let anywhere = vec![
        IpNet::new_assert(Ipv4Addr::UNSPECIFIED.into(), 0),
        IpNet::new_assert(Ipv6Addr::UNSPECIFIED.into(), 0),
    ];
    let outside = Outside::new(anywhere, &app.config.dns, app.config.trust_ca_file.as_deref(), COLLECTOR)?;
    let app = app.clone();
    tokio::spawn(async move {
        let (random, stop) = (app.random.clone(), app.stop.clone());
        traces::export(&app.figures.traces, spans, outside, url, random, stop).await;
    });
    Ok(())
}

/// Says again and again that the program runs: one whose threads all hang says nothing, and is restarted.
async fn keep_the_watchdog(systemd: Arc<Systemd>) {
    let Some(pause) = systemd.watchdog() else { return };
    loop {
        systemd.tell("WATCHDOG=1");
        tokio::time::sleep(pause).await;
    }
}

/// Goes on for a while, so that balancers have seen that this node is leaving before it refuses anybody, and before it closes
/// connections that they keep. A second signal ends it.
async fn drain(app: &App) -> Result<()> {
    let time = Duration::from_secs(u64::from(app.config.drain_seconds));
    if time.is_zero() {
        return Ok(());
    }
    tracing::info!(seconds = time.as_secs(), "leaving: load balancers can see it");
    app.leaving.tell();
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        signal = wait_for_signal() => signal,
    }
}

async fn wait_for_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn start_logging() {
    // Libraries may log the data they handle, mail included, so their levels are capped.
    let filter = EnvFilter::builder()
        .with_env_var("ROOKERY_LOG")
        .try_from_env()
        .unwrap_or_else(|_| EnvFilter::new("info"))
        // It warns of what any mail can do to it.
        .add_directive("html5ever=error".parse().expect("a directive"))
        .add_directive("rmcp=error".parse().expect("a directive"))
        .add_directive("sqlx=warn".parse().expect("a directive"))
        .add_directive("hyper=warn".parse().expect("a directive"));
    let _ = tracing_subscriber::fmt().json().flatten_event(true).with_env_filter(filter).try_init();
}
