//! Backups: whether they can be made, how old the last is, whether it was restored once, whether the keys that it needs are
//! here, and whether there is room for the next.

use chrono::{DateTime, TimeDelta, Utc};

use crate::app::App;
use crate::backups::manifest::{self, Manifest};
use crate::backups::place::{self, Place};
use crate::backups::programs;
use crate::doctor::given::Given;
use crate::doctor::row::{Judged, Row, either, right, wrong};
use crate::doctor::storage::{free, size};
use crate::error::{Error, Result};

/// A backup every night, with two hours to spare; a proof every week, with a day.
const BACKUP: TimeDelta = TimeDelta::hours(26);
const PROOF: TimeDelta = TimeDelta::days(8);
const MADE: &str = "not older than 26 hours";

pub async fn look(app: &App, given: &Given, reached: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    if reached {
        let expected = "pg_dump and pg_restore, at least as new as the database";
        rows.push(Row::of("backup-programs", expected, tools(app).await));
    }
    let Some(folder) = &app.config.backups else {
        let fix = "Set `ROOKERY_BACKUPS` and `ROOKERY_BACKUP_KEY`, then: `systemctl enable --now rookery-backup.timer`";
        rows.push(Row::new("backup", MADE, wrong("no backups are made: ROOKERY_BACKUPS is not set", fix)));
        return rows;
    };
    let names = match place::list(folder) {
        Ok(names) => names,
        Err(error) => {
            let fix = "Let the service's user read the folder of `ROOKERY_BACKUPS`.";
            rows.push(Row::new("backup", MADE, wrong(error.to_string(), fix)));
            return rows;
        }
    };
    let Some(newest) = names.last() else {
        rows.push(Row::new("backup", MADE, wrong("there is none", "Make one: `rookery backup create`")));
        return rows;
    };
    let expected = "the key of the newest backup is in ROOKERY_BACKUP_KEY";
    let (place, manifest) = match Place::of(&app.config).and_then(|place| {
        let manifest = Manifest::read(&place, newest)?;
        Ok((place, manifest))
    }) {
        Ok(read) => read,
        Err(error) => {
            let fix = "Put the key there with which backups were made; without it they are of no use.";
            rows.push(Row::new("backup-key", expected, wrong(error.to_string(), fix)));
            return rows;
        }
    };
    rows.push(Row::new("backup-key", expected, right(manifest.key.clone())));
    rows.push(Row::of("backup", MADE, made(app, &manifest)));
    if let Some(keys) = &app.config.secret_key {
        let judged = match manifest.check_canary(keys) {
            Ok(()) => right(format!("{} is there", manifest.secret_key)),
            Err(error) => {
                wrong(error.to_string(), "Put that key into `ROOKERY_SECRET_KEY`, behind the newest.")
            }
        };
        let expected = "ROOKERY_SECRET_KEY has the key of the newest backup's time";
        rows.push(Row::new("backup-secret-key", expected, judged));
    }
    rows.push(Row::of("backup-proven", "one was restored in the last 8 days", proven(app, &place, &names)));
    rows.push(Row::of("backup-room", "room for the next backup", room(&place, &manifest, given)));
    rows
}

async fn tools(app: &App) -> Result<Judged> {
    let fix = "Install the programs of the database's version: `apt install postgresql-client`";
    let server: i32 = sqlx::query_scalar("select current_setting('server_version_num')::int")
        .fetch_one(&mut *app.connection().await?)
        .await?;
    let wanted = u32::try_from(server / 10_000).map_err(Error::internal)?;
    let path = programs::path();
    let mut found = Vec::new();
    for name in ["pg_dump", "pg_restore"] {
        let Some(program) = programs::find(name, &path) else { return Ok(wrong(format!("no {name}"), fix)) };
        let version = programs::major_version(&program).await?;
        let told = format!("{} {version}", program.display());
        if version < wanted {
            return Ok(wrong(format!("{told}, but the database is {wanted}"), fix));
        }
        found.push(told);
    }
    Ok(right(found.join(", ")))
}

fn made(app: &App, manifest: &Manifest) -> Result<Judged> {
    let at = time(&manifest.created_at)?;
    Ok(either(
        app.clock.now() - at <= BACKUP,
        format!("{} of {}", manifest.name, manifest.created_at),
        "Make one: `rookery backup create` Why did the timer not? `systemctl status rookery-backup.timer`",
    ))
}

fn proven(app: &App, place: &Place, names: &[String]) -> Result<Judged> {
    let fix = "Prove it: `rookery backup verify` and every week: `systemctl enable --now rookery-backup-verify.timer`";
    for name in names.iter().rev() {
        let Ok(manifest) = Manifest::read(place, name) else { continue };
        if let Some(proven) = manifest::proven(place, &manifest) {
            let recent = app.clock.now() - time(&proven.at)? <= PROOF;
            return Ok(either(recent, format!("{name} at {}, in {:.0} s", proven.at, proven.seconds), fix));
        }
    }
    Ok(wrong("none was ever restored", fix))
}

/// As much as the last one took, and some to spare.
fn room(place: &Place, manifest: &Manifest, given: &Given) -> Result<Judged> {
    let dumps: u64 = manifest.databases.iter().map(|one| one.dump.bytes).sum();
    let wanted = (dumps + manifest.files.new_bytes).saturating_mul(2).saturating_add(given.least_backup_room);
    let free = free(place.folder())?;
    Ok(either(
        free >= wanted,
        format!("{} free, {} wanted", size(free), size(wanted)),
        "Make room in `ROOKERY_BACKUPS`, or keep fewer: `rookery backup create --keep 7`",
    ))
}

fn time(text: &str) -> Result<DateTime<Utc>> {
    text.parse().map_err(Error::internal)
}
