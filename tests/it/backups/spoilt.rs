//! What must not be taken for a backup: a bit that flipped anywhere, a file that is missing or another's, keys that are not
//! there.

use std::path::{Path, PathBuf};

use super::{Backed, Fresh, complaint, rows};

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let found =
        std::process::Command::new("find").arg(folder).args(["-type", "f", "-size", "+0"]).output().unwrap();
    let names = String::from_utf8(found.stdout).unwrap();
    names.lines().map(PathBuf::from).filter(|path| !path.ends_with("proven")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_is_found_in_whichever_file_it_is() {
    let backed = Backed::start().await;
    backed.create();
    let files = all_files(&backed.folder());
    assert!(files.len() >= 6, "a manifest, a dump, two lists and two files: {files:?}");
    for path in &files {
        let sound = std::fs::read(path).unwrap();
        for at in [0, sound.len() / 2, sound.len() - 2] {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            std::fs::write(path, &bytes).unwrap();
            let said = backed.refused(&["verify"]);
            assert!(said.len() > 20, "{}: {said}", path.display());
        }
        // A file that is shared was set aside.
        let _ = std::fs::remove_file(path);
        backed.refused(&["verify"]);
        std::fs::write(path, &sound).unwrap();
    }
    // Files in each other's place.
    let shared: Vec<&PathBuf> =
        files.iter().filter(|path| path.to_string_lossy().contains("/files/")).collect();
    let (one, two) = (std::fs::read(shared[0]).unwrap(), std::fs::read(shared[1]).unwrap());
    std::fs::write(shared[0], &two).unwrap();
    std::fs::write(shared[1], &one).unwrap();
    backed.refused(&["verify"]);
    std::fs::write(shared[0], &one).unwrap();
    std::fs::write(shared[1], &two).unwrap();
    backed.backup(&["verify"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spoilt_backup_restores_nothing() {
    let backed = Backed::start().await;
    let name = backed.create();
    let dump = backed.folder().join("backups").join(&name).join("database");
    let mut bytes = std::fs::read(&dump).unwrap();
    let last = bytes.len() - 5;
    bytes[last] ^= 1;
    std::fs::write(&dump, &bytes).unwrap();
    let fresh = Fresh::beside(&backed).await;
    let said = complaint(fresh.command(&backed, &["restore"]).output().unwrap());
    assert!(said.contains("not as it was written"), "{said}");
    assert!(rows(fresh.database.url()).await.is_empty(), "there is no table");
    // It keeps no other backup from coming back.
    let sound = backed.create();
    std::fs::write(backed.folder().join("backups").join(&name).join("manifest"), "spoilt").unwrap();
    let done = fresh.command(&backed, &["restore", &sound]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(
        String::from_utf8_lossy(&done.stderr).contains(&name),
        "it says whose erasures are not known: {done:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_are_not_there_are_named_before_anything_is_done() {
    let backed = Backed::start().await;
    backed.create();
    let with = |name: &str, value: &str, arguments: &[&str]| {
        complaint(backed.command(arguments).env(name, value).output().unwrap())
    };
    let other = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=";
    assert!(with("ROOKERY_BACKUP_KEY", other, &["verify"]).contains("ROOKERY_BACKUP_KEY"));
    assert!(with("ROOKERY_SECRET_KEY", other, &["verify"]).contains("ROOKERY_SECRET_KEY"));
    let fresh = Fresh::beside(&backed).await;
    let restoring = fresh.command(&backed, &["restore"]).env("ROOKERY_SECRET_KEY", other).output().unwrap();
    assert!(complaint(restoring).contains("ROOKERY_SECRET_KEY"));
    assert!(!fresh.blobs.join("ws").join(&backed.workspace).exists(), "no file was written");
    assert!(backed.refused(&["verify", "nothing"]).contains("There is no backup nothing"));

    // A new key takes over; with both, older backups are still read.
    let both = format!("new:{other},{}", super::BACKUP_KEY);
    let done = backed.command(&["create"]).env("ROOKERY_BACKUP_KEY", &both).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let listed = backed.command(&["list"]).env("ROOKERY_BACKUP_KEY", &both).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    for one in listed.as_array().unwrap() {
        let name = one["backup"]["name"].as_str().unwrap();
        let done = backed.command(&["verify", name]).env("ROOKERY_BACKUP_KEY", &both).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    assert_eq!(listed[1]["backup"]["keyName"], "new", "{listed}");
}
