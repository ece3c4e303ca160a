//! A backup is whole when it has every file that its rows name. One that is not is never proven, and never pushes one out that
//! is; a copy that was spoilt is made anew, and a good copy is not replaced by a bad one.

use std::path::PathBuf;
use std::sync::Mutex;

use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::random::Random;
use rookery_upkeep::backups::lists::{FILES, Lines};
use rookery_upkeep::backups::manifest::{BackupPart, Manifest};
use rookery_upkeep::backups::place::BackupPlace;
use rookery_upkeep::backups::sealed_file::Writer;
use rookery_upkeep::backups::{create, verify};
use serde_json::Value;

use super::{BACKUP_KEY, Backed, Fresh, complaint, files};
use rookery_world::site::SECRET_KEY;

/// The files of the site that rows name.
fn stored(backed: &Backed) -> Vec<PathBuf> {
    let folder = backed.site.folder.join("blobs");
    let all = files(&folder).into_keys().filter(|name| name.contains(&backed.workspace));
    let all: Vec<PathBuf> = all.map(|name| folder.join(name)).collect();
    assert!(all.len() >= 2, "{all:?}");
    all
}

fn shared(backed: &Backed) -> Vec<PathBuf> {
    let folder = backed.folder().join("files");
    files(&folder).into_keys().map(|name| folder.join(name)).collect()
}

fn names(listed: &Value) -> Vec<&str> {
    listed.as_array().unwrap().iter().map(|one| one["backup"]["name"].as_str().unwrap()).collect()
}

/// The site as a part of this process.
fn app(backed: &Backed) -> App {
    let given = [
        ("ROOKERY_DATABASE_URL", backed.site.database.url().to_owned()),
        ("ROOKERY_BLOBS", format!("file://{}", backed.site.folder.join("blobs").display())),
        ("ROOKERY_SECRET_KEY", SECRET_KEY.to_owned()),
        ("ROOKERY_BACKUPS", backed.folder().display().to_string()),
        ("ROOKERY_BACKUP_KEY", BACKUP_KEY.to_owned()),
    ];
    let given = given.into_iter().map(|(name, value)| (name.to_owned(), value));
    App::new(Config::load(None, given).unwrap(), Clock::system(), Random::system()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_lacks_a_file_is_not_proven_and_pushes_no_good_one_out() {
    let backed = Backed::start().await;
    let good = backed.create();
    backed.backup(&["verify"]);
    let lost = stored(&backed).remove(0);
    let bytes = std::fs::read(&lost).unwrap();
    std::fs::remove_file(&lost).unwrap();
    let name = lost.file_name().unwrap().to_str().unwrap();

    let done = backed.command(&["create"]).output().unwrap();
    let said = String::from_utf8(done.stderr.clone()).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("not whole: 1 files") && said.contains(name), "{said}");
    let made: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&made["backup"]["whole"], &made["backup"]["remarks"]["lost"]), (&false.into(), &1.into()));
    let said = backed.refused(&["verify"]);
    assert!(said.contains("not whole") && said.contains(name), "{said}");
    for _ in 0..3 {
        backed.refused(&["create", "--keep", "1"]);
    }
    let listed = backed.backup(&["list"]);
    assert_eq!(names(&listed).len(), 2, "the newest bad one, and the good one: {listed}");
    assert_eq!(listed[0]["backup"]["name"], good.as_str(), "{listed}");
    assert!(listed[0]["proven"]["at"].is_string() && listed[1]["proven"].is_null(), "{listed}");

    // The good one brings it back.
    let fresh = Fresh::beside(&backed).await;
    fresh.restore(&backed, &[&good]);
    assert!(files(&fresh.blobs).values().any(|found| *found == bytes));
    std::fs::write(&lost, &bytes).unwrap();
    let mended = backed.create();
    backed.backup(&["verify", &mended]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_with_its_row_while_a_backup_is_made_is_not_missed() {
    let backed = Backed::start().await;
    backed.mail("two", 40_000);
    let app = app(&backed);
    for (rows_go_too, lost) in [(false, true), (true, false)] {
        let left = Mutex::new(stored(&backed));
        let kept: Vec<(PathBuf, Vec<u8>)> =
            left.lock().unwrap().iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        let url = backed.site.database.url().to_owned();
        // At the first file, all that are in the store go.
        let going = |_, _| {
            for path in left.lock().unwrap().drain(..) {
                std::fs::remove_file(path).unwrap();
            }
            if rows_go_too {
                let gone = "update messages set raw_blob = null, attachments = '[]'; delete from documents";
                let done = std::process::Command::new("psql").args(["-Xqc", gone, &url]).status().unwrap();
                assert!(done.success());
            }
        };
        let made = create::create(&app, &going).await.unwrap();
        assert_eq!(made.remarks.lost > 0, lost, "{:?}", made.remarks);
        assert_eq!(made.remarks.removed > 0, !lost, "{:?}", made.remarks);
        assert_eq!(verify::verify(&app, None, &|_, _| {}).await.is_err(), lost);
        for (path, bytes) in kept {
            std::fs::write(path, bytes).unwrap();
        }
    }
}

/// Whoever made it, and however it came about: what counts is what its rows name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_name_a_file_which_is_in_no_list_are_found() {
    let backed = Backed::start().await;
    let name = backed.create();
    let app = app(&backed);
    let place = BackupPlace::from_config(&app.config).unwrap();
    let mut manifest = Manifest::read(&place, &name).unwrap();
    let key = manifest.key(&place.keys).unwrap();
    let mut lines = Lines::open(&place, &manifest, FILES).await.unwrap();
    let mut all = Vec::new();
    while let Some(line) = lines.next().await.unwrap() {
        all.push(line);
    }
    let left_out = all.pop().unwrap();
    let path = place.of_backup(&name).join(FILES);
    std::fs::remove_file(&path).unwrap();
    let mut list = Writer::create(&path, key, &app.random, &format!("{name}/{FILES}")).await.unwrap();
    for line in &all {
        list.add(format!("{line}\n").as_bytes()).await.unwrap();
    }
    manifest.files.list = BackupPart::from(list.finish().await.unwrap());
    manifest.files.count -= 1;
    manifest.files.bytes -= left_out.split(' ').next().unwrap().parse::<u64>().unwrap();
    manifest.write(&place.of_backup(&name), key).unwrap();
    let said = backed.refused(&["verify"]);
    assert!(said.contains("not whole") && said.contains(left_out.rsplit(' ').next().unwrap()), "{said}");
    assert!(backed.backup(&["list"])[0]["proven"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_was_spoilt_is_made_anew() {
    let backed = Backed::start().await;
    let first = backed.create();
    backed.backup(&["verify"]);
    for spoil in [|bytes: &mut Vec<u8>| bytes[100] ^= 1, |bytes: &mut Vec<u8>| bytes.truncate(90)] {
        let path = shared(&backed).remove(0);
        let mut bytes = std::fs::read(&path).unwrap();
        spoil(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let said = backed.refused(&["verify"]);
        assert!(said.contains("backup create"), "{said}");
        let listed = backed.backup(&["list"]);
        assert!(listed.as_array().unwrap().iter().all(|one| one["proven"].is_null()), "{listed}");
        let made = backed.backup(&["create"]);
        assert_eq!(made["backup"]["files"]["newCount"], 1, "{made}");
        backed.backup(&["verify"]);
        backed.backup(&["verify", &first]);
        assert!(shared(&backed).iter().all(|path| path.extension().is_none()), "what was set aside is gone");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_cut_off_in_the_store_does_not_replace_its_good_copy() {
    let backed = Backed::start().await;
    backed.create();
    let path = stored(&backed).remove(0);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let done = backed.command(&["create"]).output().unwrap();
    let said = String::from_utf8(done.stderr.clone()).unwrap();
    assert!(done.status.code() == Some(1) && said.contains("may be failing"), "{said}");
    backed.backup(&["verify"]);
    let fresh = Fresh::beside(&backed).await;
    fresh.restore(&backed, &[]);
    assert!(files(&fresh.blobs).values().any(|found| *found == bytes));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_somebody_else_are_not_taken_over_unasked() {
    let backed = Backed::start().await;
    let name = backed.create();
    backed.mail("later", 40_000);
    let before = files(&backed.site.folder.join("blobs"));
    // The live database: nothing is replaced, and nobody is told to remove anything.
    let said = backed.refused(&["restore"]);
    assert!(said.contains("not empty") && said.contains("Leave that database and its blob store"), "{said}");
    // An empty database, but the live files.
    let fresh = Fresh::beside(&backed).await;
    let live = format!("file://{}", backed.site.folder.join("blobs").display());
    let restoring = |more: &[&str]| {
        let mut command = fresh.command(&backed, &[&["restore", &name], more].concat());
        command.env("ROOKERY_BLOBS", &live).output().unwrap()
    };
    let said = complaint(restoring(&[]));
    assert!(said.contains("Do not remove them") && said.contains("ws/erasures"), "{said}");
    assert_eq!(files(&backed.site.folder.join("blobs")), before);
    let done = restoring(&["--take-over-files"]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(files(&backed.site.folder.join("blobs")), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_that_was_cut_short_after_its_rows_came_back_goes_on() {
    let backed = Backed::start().await;
    backed.create();
    let fresh = Fresh::beside(&backed).await;
    fresh.restore(&backed, &[]);
    let whole = files(&fresh.blobs);
    let path = whole.keys().find(|name| name.contains(&backed.workspace)).unwrap();
    std::fs::remove_file(fresh.blobs.join(path)).unwrap();
    fresh.restore(&backed, &[]);
    assert_eq!(files(&fresh.blobs), whole);
}
