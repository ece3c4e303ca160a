//! Where files are: whether they can be written and read, whether there is room, and whether those that rows name are there.
//! Of those that are many, the newest are looked at.

use std::path::Path;

use futures::{StreamExt, TryStreamExt};
use rustix::fs::{StatVfs, statvfs};

use crate::doctor::given::Given;
use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use crate::erasures::list;
use rookery_base::app::App;
use rookery_base::error::Result;

/// Files that are looked for, and entries of the list of erasures that are read.
const FILES: i64 = 50;
const ERASURES: usize = 500;
const FOLDER: &str = "doctor";

pub async fn inspect(app: &App, given: &Given, has_schema: bool) -> Vec<CheckRow> {
    let written =
        CheckRow::from_result("blobs", "a file can be written, read and removed", write_and_read(app).await);
    let works = written.ok;
    let mut rows = vec![written];
    if let Some(folder) = app.blobs.folder() {
        let place = format!("where {} is", folder.display());
        rows.push(CheckRow::from_result(
            "disk",
            format!("{} free {place}", size(given.least_free)),
            disk(folder, given.least_free),
        ));
        rows.push(CheckRow::from_result(
            "inodes",
            format!("{} of 100 free {place}", given.least_inodes),
            inodes(folder, given),
        ));
    } else {
        for name in ["disk", "inodes"] {
            rows.push(CheckRow::new(name, "room for files", right("on S3, which tells nothing of its room")));
        }
    }
    let spool = u64::from(app.config.spool_megabytes) << 20;
    let temp = std::env::temp_dir();
    let wanted = format!("{} free in {} for mail that comes in", size(spool), temp.display());
    rows.push(CheckRow::from_result("spool", wanted, disk(&temp, spool)));
    if works && has_schema {
        rows.push(CheckRow::from_result("files", "files that rows name are there", files(app).await));
    }
    if works {
        rows.push(CheckRow::from_result("erasure-list", "every entry can be read", erasures(app).await));
    }
    rows
}

async fn write_and_read(app: &App) -> Result<RowJudgement> {
    let fix =
        "Let the service's user write there (`chown -R rookery:rookery`), or fix the keys of the bucket.";
    // Several may look at once.
    let name = app.random.hex(16);
    let word = format!("a try {name}").into_bytes();
    let tried = async {
        app.blobs.keep(&[FOLDER, &name], word.clone()).await?;
        let read = app.blobs.read_kept(&[FOLDER, &name]).await?;
        app.blobs.remove([&format!("ws/{FOLDER}/{name}")]).await?;
        Ok::<_, rookery_base::error::Error>(read)
    };
    Ok(match tried.await {
        Ok(read) => either(read == word, "what was written was read", fix),
        Err(error) => wrong(error.to_string(), fix),
    })
}

fn of_filesystem(folder: &Path) -> Result<StatVfs> {
    // It may not be there yet.
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    Ok(statvfs(there).map_err(std::io::Error::from)?)
}

pub fn free(folder: &Path) -> Result<u64> {
    let found = of_filesystem(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

fn disk(folder: &Path, least: u64) -> Result<RowJudgement> {
    let free = free(folder)?;
    Ok(either(free >= least, format!("{} free", size(free)), "Make room, or give it a larger disk: `df -h`"))
}

fn inodes(folder: &Path, given: &Given) -> Result<RowJudgement> {
    let found = of_filesystem(folder)?;
    // Some file systems have no such limit.
    let share = found.f_favail.saturating_mul(100).checked_div(found.f_files).unwrap_or(100);
    Ok(either(
        share >= given.least_inodes,
        format!("{share} of 100"),
        "The disk has room but can name no more files (`df -i`). Use one that can name more.",
    ))
}

async fn files(app: &App) -> Result<RowJudgement> {
    let named: Vec<String> =
        sqlx::query_scalar("select blob from documents order by workspace_id desc, id desc limit $1")
            .bind(FILES)
            .fetch_all(&mut *app.connection().await?)
            .await?;
    let mut missing = Vec::new();
    for blob in &named {
        if app.blobs.find(blob).await?.is_none() {
            missing.push(blob.as_str());
        }
    }
    Ok(match missing.first() {
        None => right(format!("{} of {}", named.len(), named.len())),
        Some(first) => wrong(
            format!("{} of {} are missing, such as {first}", missing.len(), named.len()),
            "Is `ROOKERY_BLOBS` the folder that it was? Else bring them back into it from a backup.",
        ),
    })
}

async fn erasures(app: &App) -> Result<RowJudgement> {
    let mut all = std::pin::pin!(list::all(&app.blobs).take(ERASURES));
    let mut count = 0;
    while let Some((workspace, id)) = all.try_next().await? {
        count += 1;
        if list::read(&app.blobs, workspace, id).await.is_err() {
            return Ok(wrong(
                format!(
                    "ws/erasures/{workspace}/{id} cannot be read, and the service does not start with it"
                ),
                "Bring this file back from a backup. `rookery backup restore` adds what is missing once it is removed.",
            ));
        }
    }
    Ok(right(format!("{count} entries")))
}

pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
