//! Backups: whether they can be made, how old the last is, whether it was restored once, whether the keys that it needs are
//! here, and whether there is room for the next.

use chrono::{DateTime, TimeDelta, Utc};

use crate::backups::manifest::{self, Manifest};
use crate::backups::place::{self, BackupPlace};
use crate::backups::{contents, programs};
use crate::doctor::given::Given;
use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use crate::doctor::storage::{free, size};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};

/// A backup every night, with two hours to spare; a proof every week, with a day.
const BACKUP: TimeDelta = TimeDelta::hours(26);
const PROOF: TimeDelta = TimeDelta::days(8);
/// What is dated later than this was dated by a clock that was wrong.
const AHEAD: TimeDelta = TimeDelta::minutes(-10);
const MADE: &str = "not older than 26 hours";

pub async fn inspect(app: &App, given: &Given, reached: bool) -> Vec<CheckRow> {
    let mut rows = Vec::new();
    if reached {
        let expected = "pg_dump and pg_restore, at least as new as the database";
        rows.push(CheckRow::from_result("backup-programs", expected, tools(app).await));
    }
    let Some(folder) = &app.config.backups else {
        let fix = "Set `ROOKERY_BACKUPS` and `ROOKERY_BACKUP_KEY`, then: `systemctl enable --now rookery-backup.timer`";
        rows.push(CheckRow::new(
            "backup",
            MADE,
            wrong("no backups are made: ROOKERY_BACKUPS is not set", fix),
        ));
        return rows;
    };
    let names = match place::list(folder) {
        Ok(names) => names,
        Err(error) => {
            let fix = "Let the service's user read the folder of `ROOKERY_BACKUPS`.";
            rows.push(CheckRow::new("backup", MADE, wrong(error.to_string(), fix)));
            return rows;
        }
    };
    let Some(newest) = names.last() else {
        rows.push(CheckRow::new("backup", MADE, wrong("there is none", "Make one: `rookery backup create`")));
        return rows;
    };
    let expected = "the key of the newest backup is in ROOKERY_BACKUP_KEY";
    let fix = "Put the key there with which backups were made; without it they are of no use.";
    let place = match BackupPlace::from_config(&app.config) {
        Ok(place) => place,
        Err(error) => {
            rows.push(CheckRow::new("backup-key", expected, wrong(error.to_string(), fix)));
            return rows;
        }
    };
    let manifest = match Manifest::read(&place, newest) {
        Ok(manifest) => manifest,
        Err(error) if Manifest::lacks_its_key(&place, newest) => {
            rows.push(CheckRow::new("backup-key", expected, wrong(error.to_string(), fix)));
            return rows;
        }
        // One that is cut off, changed or of another version is no backup, whatever else it says.
        Err(error) => {
            let fix = "Make another: `rookery backup create` Then remove that folder.";
            rows.push(CheckRow::new("backup", MADE, wrong(error.to_string(), fix)));
            return rows;
        }
    };
    rows.push(CheckRow::new(
        "backup-key",
        expected,
        right(format!("{} is there, called {}", manifest.key, manifest.key_name)),
    ));
    rows.push(CheckRow::from_result("backup", MADE, made(app, &manifest)));
    if let Some(keys) = &app.config.secret_key {
        let judged = match manifest.check_canary(keys) {
            Ok(()) => right(format!("{} is there", manifest.secret_key)),
            Err(error) => {
                wrong(error.to_string(), "Put that key into `ROOKERY_SECRET_KEY`, behind the newest.")
            }
        };
        let expected = "ROOKERY_SECRET_KEY has the key of the newest backup's time";
        rows.push(CheckRow::new("backup-secret-key", expected, judged));
    }
    rows.push(CheckRow::from_result(
        "backup-proven",
        "one was restored in the last 8 days",
        proven(app, &place, &names),
    ));
    rows.push(CheckRow::from_result(
        "backup-room",
        "room for the next backup",
        room(&place, &manifest, given),
    ));
    rows
}

async fn tools(app: &App) -> Result<RowJudgement> {
    let fix = "Install the programs of the database's version: `apt install postgresql-client` The container image has none: \
               docs/backup.md, \"In containers\".";
    let server: i32 = sqlx::query_scalar("select current_setting('server_version_num')::int")
        .fetch_one(&mut *app.connection().await?)
        .await?;
    let mut found = Vec::new();
    for name in ["pg_dump", "pg_restore"] {
        match programs::choose(name, contents::major(server)?).await {
            Ok(program) => found.push(format!("{} {}", program.file.display(), program.version)),
            Err(error) => return Ok(wrong(error.to_string(), fix)),
        }
    }
    Ok(right(found.join(", ")))
}

fn made(app: &App, manifest: &Manifest) -> Result<RowJudgement> {
    let age = app.clock.now() - time(&manifest.created_at)?;
    let told = format!("{} of {}", manifest.name, manifest.created_at);
    if !manifest.is_whole() {
        return Ok(wrong(
            format!("{told} is not whole: {} files that rows name are not in it", manifest.remarks.lost),
            "Is `ROOKERY_BLOBS` what it was? Else put them back from an earlier backup: `rookery backup list`",
        ));
    }
    if age < AHEAD {
        return Ok(wrong(
            format!("{told}, which is not yet: a clock was wrong"),
            "Make one now: `rookery backup create`",
        ));
    }
    Ok(either(
        age <= BACKUP,
        told,
        "Make one: `rookery backup create` Why did the timer not? `systemctl status rookery-backup.timer`",
    ))
}

fn proven(app: &App, place: &BackupPlace, names: &[String]) -> Result<RowJudgement> {
    let fix = "Prove it: `rookery backup verify` and every week: `systemctl enable --now rookery-backup-verify.timer`";
    for name in names.iter().rev() {
        let Ok(manifest) = Manifest::read(place, name) else { continue };
        if let Some(proven) = manifest::proven(place, &manifest) {
            let age = app.clock.now() - time(&proven.at)?;
            let told = format!("{name} at {}, in {:.0} s", proven.at, proven.seconds);
            return Ok(either((AHEAD..=PROOF).contains(&age), told, fix));
        }
    }
    Ok(wrong("none was ever restored", fix))
}

/// As much as the last one took, and some to spare.
fn room(place: &BackupPlace, manifest: &Manifest, given: &Given) -> Result<RowJudgement> {
    let dumps: u64 = manifest.databases.iter().map(|one| one.dump.bytes).sum();
    let wanted = (dumps + manifest.files.new_bytes).saturating_mul(2).saturating_add(given.least_backup_room);
    let free = free(place.folder())?;
    Ok(either(
        free >= wanted,
        format!("{} free, {} wanted", size(free), size(wanted)),
        "Make room in `ROOKERY_BACKUPS`, or keep fewer: `rookery backup prune --keep 7`",
    ))
}

fn time(text: &str) -> Result<DateTime<Utc>> {
    text.parse().map_err(Error::internal)
}
