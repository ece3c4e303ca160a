//! The program itself: whether its version is supported, its settings, its limits, and the key that its secrets are sealed
//! with.

use chrono::Months;

use crate::doctor::given::Given;
use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::secrets::sealed;
use rookery_core::workspace::audit;

/// How long a version is supported.
const SUPPORTED: Months = Months::new(12);
/// Enough for the connections that the defaults allow.
const DESCRIPTORS: u64 = 4096;
/// Workspaces whose sealed values are opened.
const WORKSPACES: i64 = 200;

pub fn inspect(app: &App, given: &Given) -> Vec<CheckRow> {
    let version = env!("CARGO_PKG_VERSION");
    let until = given.released.checked_add_months(SUPPORTED).unwrap_or(given.released);
    let supported = app.clock.now().date_naive() <= until;
    let departures = app.config.departures();
    vec![
        CheckRow::new(
            "version",
            "a version of the last twelve months",
            either(
                supported,
                format!("{version}, released {}, supported until {until}", given.released),
                "Install a newer version: the upgrade stops nothing (docs/operating.md, Upgrade).",
            ),
        ),
        CheckRow::new(
            "settings",
            "the limits of the specification, and no private network open to webhooks",
            if departures.is_empty() {
                right("as specified")
            } else {
                wrong(departures.join("; "), "Take these settings out, unless this is for tests.")
            },
        ),
        CheckRow::new(
            "file-descriptors",
            format!("at least {DESCRIPTORS}"),
            either(
                given.descriptors >= DESCRIPTORS,
                given.descriptors.to_string(),
                "Raise the limit with `LimitNOFILE=65536` in the unit, or in a shell: `ulimit -n 65536`",
            ),
        ),
        CheckRow::new(
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
pub async fn look_at_sealed(app: &App) -> Vec<CheckRow> {
    let (opens, newest) = match opened(app).await {
        Ok((opens, newest)) => (Ok(opens), Some(newest)),
        Err(error) => (Err(error), None),
    };
    let sealed = CheckRow::from_result("sealed-values", "a key of ROOKERY_SECRET_KEY opens each", opens);
    let newest = newest.filter(|_| sealed.ok);
    let newest = newest.map(|judged| CheckRow::new("newest-key", "the newest key seals each", judged));
    [Some(sealed), newest].into_iter().flatten().collect()
}

async fn opened(app: &App) -> Result<(RowJudgement, RowJudgement)> {
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
    let opens = if closed.is_empty() {
        right(format!("{all} of {all} open"))
    } else {
        wrong(
            format!("sealed with keys that are not there: {}", closed.join(", ")),
            "Put these keys back into `ROOKERY_SECRET_KEY`, behind the newest.",
        )
    };
    let newest = either(
        older == 0,
        format!("{older} of {all} are sealed with an older key"),
        "Seal them again: `rookery admin reseal`",
    );
    Ok((opens, newest))
}
