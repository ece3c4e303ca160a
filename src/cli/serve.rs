//! `rookery serve`: the HTTP doors and the worker in one process, until it is told to stop.
//! It refuses to start on an older schema, and finishes running requests before it ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::cli::{migrate, reseal};
use crate::clock::Clock;
use crate::config::Config;
use crate::confined::run::Confined;
use crate::erasures::replay;
use crate::error::{Error, Result};
use crate::http::connections::Connections;
use crate::http::serve::serve as serve_http;
use crate::incoming::listen::{Door, LMTP_CONNECTIONS, Protocol};
use crate::live::nodes;
use crate::net::fd_limit::{self, Shares};
use crate::random::Random;
use crate::routes;
use crate::shutdown::Stop;
use crate::store::db;
use crate::store::partitions;
use crate::worker::{self, supervise::supervise};
use crate::workspace::people;

/// Requests that are still running after this are cut off.
const GRACE: Duration = Duration::from_secs(20);
/// How long other nodes may take to be told the last changes.
const LAST_WORDS: Duration = Duration::from_secs(2);

pub async fn serve(mut config: Config) -> Result<()> {
    start_logging();
    for departure in config.departures() {
        tracing::warn!("NOT FOR PRODUCTION: {departure}");
    }
    config.needs_secret_key()?;
    share_descriptors(&mut config);
    let listen = config.listen;
    let mut app = App::new(config, Clock::system(), Random::system())?;
    app.confined = Confined::by_ourselves();
    let app = Arc::new(app);
    let current = db::schema_is_current(&app.pool).await.map_err(|error| {
        Error::internal(format!(
            "The database is not ready ({error}). Check ROOKERY_DATABASE_URL, then run: rookery migrate"
        ))
    })?;
    if !current {
        return Err(Error::internal("The database has an older schema. Run: rookery migrate"));
    }
    let listener = bind(listen, "ROOKERY_LISTEN").await?;
    app.follow_the_databases_clock().await?;
    migrate::check_role(&app).await?;
    partitions::maintain(&mut *app.connection().await?).await?;
    let erased = replay::replay(&app).await?;
    if erased > 0 {
        tracing::warn!(erased, "an older backup came back: what had been erased is erased again");
    }
    tracing::info!(address = %listen, public_url = %app.config.public_url, "serving");

    tell_who_signs_in_first(&app).await?;
    tokio::spawn(reseal::check(app.clone()));
    let drained = Stop::not_yet();
    let telling = tokio::spawn(tell_other_nodes(app.clone(), drained.clone()));
    let mail = tokio::spawn(mail_doors(&app).await?);
    let mut work = tokio::spawn(worker::run(app.clone()));
    let connections = Connections::of(&app.config);
    let server =
        tokio::spawn(serve_http(listener, routes::router(app.clone()), connections, app.stop.clone()));

    // A service whose worker is gone would take mail that nobody sends on: somebody has to start it anew.
    let worked = tokio::select! {
        signal = wait_for_signal() => {
            signal?;
            None
        }
        ended = &mut work => Some(ended.map_err(Error::internal).flatten()),
    };
    tracing::info!("stopping: running requests are finished first");
    app.stop.tell();
    let finished = async {
        let _ = server.await;
        let _ = mail.await;
        match worked {
            Some(ended) => ended.and(Err(Error::internal("The worker has ended by itself."))),
            None => work.await.map_err(Error::internal).flatten(),
        }
    };
    let ended = tokio::time::timeout(GRACE, finished).await.unwrap_or_else(|_| {
        tracing::warn!("some requests did not finish in time and were cut off");
        Ok(())
    });
    // Changes of the requests that were finished just now are told too.
    drained.tell();
    let _ = tokio::time::timeout(LAST_WORDS, telling).await;
    app.pool.close().await;
    ended
}

/// Open pages of other nodes hear of what happens here, and the other way round.
async fn tell_other_nodes(app: Arc<App>, stop: Stop) {
    let name = "tell other nodes";
    let pass = || async {
        nodes::run(&app, &stop).await?;
        Ok(Duration::ZERO)
    };
    supervise(name, &app.loops.of(name), &stop, pass).await;
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
async fn mail_doors(app: &Arc<App>) -> Result<impl Future<Output = ()> + use<>> {
    let wanted = [
        (app.config.smtp_listen, Protocol::Smtp, "ROOKERY_SMTP_LISTEN"),
        (app.config.lmtp_listen, Protocol::Lmtp, "ROOKERY_LMTP_LISTEN"),
    ];
    let mut doors = Vec::new();
    for (address, protocol, setting) in wanted {
        let Some(address) = address else { continue };
        let listener = bind(address, setting).await?;
        tracing::info!(%address, ?protocol, "taking mail");
        doors.push(Door::open(app.clone(), protocol)?.serve(listener));
    }
    Ok(async move {
        join_all(doors).await;
    })
}

async fn bind(address: SocketAddr, setting: &str) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        Error::internal(format!("{address} cannot be listened on ({error}). Check {setting}."))
    })
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
