//! The program itself: whether its version is supported, its settings, its limits, and the key that its secrets are sealed
//! with.

use chrono::Months;

use crate::app::App;
use crate::doctor::given::Given;
use crate::doctor::row::{Judged, Row, either, right, wrong};
use crate::error::Result;
use crate::secrets::sealed;
use crate::workspace::audit;

/// How long a version is supported.
const SUPPORTED: Months = Months::new(12);
/// Enough for the connections that the defaults allow.
const DESCRIPTORS: u64 = 4096;
/// Workspaces whose sealed values are opened.
const WORKSPACES: i64 = 200;

pub fn look(app: &App, given: &Given) -> Vec<Row> {
    let version = env!("CARGO_PKG_VERSION");
    let until = given.released.checked_add_months(SUPPORTED).unwrap_or(given.released);
    let supported = app.clock.now().date_naive() <= until;
    let departures = app.config.departures();
    vec![
        Row::new(
            "version",
            "a version of the last twelve months",
            either(
                supported,
                format!("{version}, released {}, supported until {until}", given.released),
                "Install a newer version: the upgrade stops nothing (docs/operating.md, Upgrade).",
            ),
        ),
        Row::new(
            "settings",
            "the limits of the specification, and no private network open to webhooks",
            match departures.is_empty() {
                true => right("as specified"),
                false => wrong(departures.join("; "), "Take these settings out, unless this is for tests."),
            },
        ),
        Row::new(
            "file-descriptors",
            format!("at least {DESCRIPTORS}"),
            either(
                given.descriptors >= DESCRIPTORS,
                given.descriptors.to_string(),
                "Raise the limit with `LimitNOFILE=65536` in the unit, or in a shell: `ulimit -n 65536`",
            ),
        ),
        Row::new(
            "secret-key",
            "ROOKERY_SECRET_KEY has at least one key",
            match &app.config.secret_key {
                Some(keys) => right(keys.all().map(|(id, _)| id).collect::<Vec<_>>().join(", ")),
                None => wrong("not set", "Make one and keep a copy elsewhere: `openssl rand -base64 32`"),
            },
        ),
    ]
}

/// Opens a sealed value of each workspace.
pub async fn look_at_sealed(app: &App) -> Vec<Row> {
    let (opens, newest) = match opened(app).await {
        Ok((opens, newest)) => (Ok(opens), Some(newest)),
        Err(error) => (Err(error), None),
    };
    let sealed = Row::of("sealed-values", "a key of ROOKERY_SECRET_KEY opens each", opens);
    let newest = newest.filter(|_| sealed.ok);
    let newest = newest.map(|judged| Row::new("newest-key", "the newest key seals each", judged));
    [Some(sealed), newest].into_iter().flatten().collect()
}

async fn opened(app: &App) -> Result<(Judged, Judged)> {
    let keys = app.config.needs_secret_key()?;
    let mut conn = app.connection().await?;
    let workspaces: Vec<i64> = sqlx::query_scalar("select id from workspaces order by id desc limit $1")
        .bind(WORKSPACES)
        .fetch_all(&mut *conn)
        .await?;
    let stored = audit::stored(&mut conn, &workspaces).await?;
    let (all, mut closed, mut older) = (stored.len(), Vec::new(), 0);
    for one in stored {
        match sealed::opened_by(keys, one.purpose, &one.context, &one.sealed)? {
            None => closed.push(sealed::key_named(&one.sealed).unwrap_or("not known").to_owned()),
            Some((id, _)) if id != keys.newest_id() => older += 1,
            Some(_) => {}
        }
    }
    closed.sort();
    closed.dedup();
    let opens = match closed.is_empty() {
        true => right(format!("{all} of {all} open")),
        false => wrong(
            format!("sealed with keys that are not there: {}", closed.join(", ")),
            "Put these keys back into `ROOKERY_SECRET_KEY`, behind the newest.",
        ),
    };
    let newest = either(
        older == 0,
        format!("{older} of {all} are sealed with an older key"),
        "Seal them anew: `rookery admin reseal`",
    );
    Ok((opens, newest))
}
