//! What `/metrics` answers, in the text form that Prometheus reads: what this node has counted, what it holds now, and how
//! far each loop of the worker is behind and how often it failed.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::worker::{LOOPS, Loop};
use rookery_base::app::App;
use rookery_base::due::backoff::caught;
use rookery_base::figures::series::gauge;
use rookery_base::store::db::newest_migration;

/// How long to wait for the loops' figures.
struct Patience {
    /// For the figure of one loop.
    each: Duration,
    /// For all of them together.
    all: Duration,
}

/// A scrape comes every few seconds.
const SCRAPE: Patience = Patience { each: Duration::from_secs(1), all: Duration::from_secs(5) };
/// Somebody looks, and a slow machine is not a loop that is behind.
const LOOK: Patience = Patience { each: Duration::from_secs(10), all: Duration::from_secs(30) };

/// Everything this node has to tell.
pub async fn text(app: &App) -> String {
    let mut written = String::new();
    app.figures.write(&mut written);
    held(app, &mut written);
    loops(app, &mut written).await;
    written
}

/// What is held at this moment, and what the program is.
fn held(app: &App, text: &mut String) {
    let (all, idle) = (f64::from(app.pool.size()), app.pool.num_idle() as f64);
    let states: [(&[_], f64); 2] =
        [(&[("state", "idle")], idle), (&[("state", "used")], (all - idle).max(0.0))];
    gauge(text, "rookery_database_connections", "Connections to the database.", &states);
    let most = f64::from(app.config.database_connections);
    gauge(text, "rookery_database_connections_most", "Connections at most.", &[(&[], most)]);
    let (open, most) = (app.streams.count() as f64, app.config.live_streams() as f64);
    gauge(text, "rookery_live_streams", "Open pages that receive live changes.", &[(&[], open)]);
    gauge(text, "rookery_live_streams_most", "Open pages at most.", &[(&[], most)]);
    let schema = newest_migration().to_string();
    let build: [(&'static str, &str); 3] = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("commit", option_env!("ROOKERY_COMMIT").unwrap_or("unknown")),
        ("schema", &schema),
    ];
    gauge(text, "rookery_build_info", "What runs here.", &[(&build, 1.0)]);
}

/// How far each loop is behind, for `rookery doctor`.
pub async fn lags(app: &App) -> Vec<(&'static str, f64)> {
    lags_within(app, LOOK).await
}

/// How far each loop is behind, in seconds; not a number where nobody knows in time.
async fn lags_within(app: &App, patience: Patience) -> Vec<(&'static str, f64)> {
    // One after the other: whoever asks takes one connection to the database.
    let (until, mut lags) = (Instant::now() + patience.all, Vec::new());
    for work in LOOPS {
        let time = until.saturating_duration_since(Instant::now()).min(patience.each);
        lags.push((work.name, work.lag(app, time).await));
    }
    lags
}

/// How far each loop is behind and how often it failed.
async fn loops(app: &App, written: &mut String) {
    let lags = lags_within(app, SCRAPE).await;
    let mut figures = |name: &str, kind: &str, help: &str, figure: &dyn Fn(usize) -> String| {
        let _ = writeln!(written, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (number, work) in LOOPS.iter().enumerate() {
            let _ = writeln!(written, "{name}{{loop=\"{}\"}} {}", work.name, figure(number));
        }
    };
    let put_off = |number: usize| app.loops.backoff_of(LOOPS[number].name);
    let counted = |number: usize| put_off(number).counted();
    let aside = |number: usize| put_off(number).aside(app.clock.now());
    figures(
        "rookery_loop_lag_seconds",
        "gauge",
        "How long the oldest due row of a loop has been waiting.",
        &|number| format!("{:.3}", lags[number].1),
    );
    figures(
        "rookery_loop_put_off",
        "gauge",
        "Rows and workspaces that failed and are tried again later.",
        &|number| (aside(number).rows.len() + aside(number).workspaces.len()).to_string(),
    );
    figures(
        "rookery_loop_put_off_total",
        "counter",
        "How often a row or workspace was put off.",
        &|number| counted(number).put_off.to_string(),
    );
    figures(
        "rookery_loop_errors_total",
        "counter",
        "Errors of a loop, and of single rows in it.",
        &|number| counted(number).errors.to_string(),
    );
    figures(
        "rookery_loop_panics_total",
        "counter",
        "Panics of a loop, and of single rows in it.",
        &|number| counted(number).panics.to_string(),
    );
}

impl Loop {
    /// How far it is behind, in seconds; not a number when nobody knows in time.
    async fn lag(&self, app: &App, time: Duration) -> f64 {
        let next = match tokio::time::timeout(time, caught((self.next)(app))).await {
            Ok(Ok(next)) => next,
            Ok(Err(error)) => {
                tracing::warn!(%error, work = self.name, "nobody knows how far a loop is behind");
                return f64::NAN;
            }
            Err(_) => return f64::NAN,
        };
        let lag = next.map_or(0, |next| (app.clock.now() - next).num_milliseconds());
        lag.max(0) as f64 / 1000.0
    }
}
