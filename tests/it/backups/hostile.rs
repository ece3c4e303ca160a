//! A folder of backups that somebody else writes to, a disk that is full, a clock that is wrong, two at once: nothing outside is
//! read or removed, and no backup that was good is lost.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{BACKUP_KEY, Backed, Fresh, complaint, files};

fn modes(folder: &Path) -> String {
    let found = Command::new("find").arg(folder).args(["-printf", "%y%m %P\n"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_and_strangers_in_the_folder_are_left_alone() {
    let backed = Backed::start().await;
    let good = backed.create();
    let elsewhere = backed.site.folder.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let (plain, hidden) = ("a".repeat(40), format!(".{}", "b".repeat(40)));
    for name in [plain.as_str(), hidden.as_str(), ".profile", "letter"] {
        std::fs::write(elsewhere.join(name), "precious").unwrap();
    }
    let folder = backed.folder();
    let unused = (0..256).map(|n| format!("{n:02x}")).find(|name| !folder.join("files").join(name).exists());
    symlink(&elsewhere, folder.join("files").join(unused.unwrap())).unwrap();
    symlink(&elsewhere, folder.join("backups/.unfinished-x")).unwrap();
    symlink(&elsewhere, folder.join("backups/20990101T000000000Z")).unwrap();
    std::fs::create_dir(folder.join("files/lost+found")).unwrap();
    std::fs::create_dir(folder.join("backups/zzz")).unwrap();
    std::fs::write(folder.join("files/zz"), "a stray").unwrap();
    std::fs::write(folder.join("backups/20990101T000000001Z"), "a stray").unwrap();
    backed.create();
    let kept = backed.backup(&["create", "--keep", "2"]);
    assert_eq!(kept["removed"]["backups"], 1, "strangers are not counted: {kept}");
    let listed = backed.backup(&["list"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert!(!listed.to_string().contains(&good));
    backed.backup(&["verify"]);
    assert_eq!(files(&elsewhere).len(), 4, "nothing behind a link was removed");
    assert!(folder.join("files/zz").exists() && folder.join("backups/zzz").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_on_the_machine_can_look_into_it() {
    let backed = Backed::start().await;
    let create = backed.command(&["create"]);
    let mut loose = Command::new("sh");
    loose.args(["-c", "umask 000; exec \"$@\"", "sh"]).arg(create.get_program()).args(create.get_args());
    for (name, value) in create.get_envs() {
        loose.env(name, value.unwrap_or_default());
    }
    let done = loose.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    backed.backup(&["verify"]);
    let open: Vec<String> = modes(&backed.folder())
        .lines()
        .filter(|line| !line.starts_with("d700 ") && !line.starts_with("f600 "))
        .map(str::to_owned)
        .collect();
    assert_eq!(open, [] as [String; 0]);
    assert_eq!(std::fs::metadata(backed.folder()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_are_one_after_the_other() {
    let backed = Backed::start().await;
    backed.create();
    let lock = std::fs::File::options().write(true).open(backed.folder().join(".lock")).unwrap();
    lock.lock().unwrap();
    let fresh = Fresh::beside(&backed).await;
    for command in [&["create"][..], &["verify"], &["prune"]] {
        let said = backed.refused(command);
        assert!(said.contains("Another backup is being made"), "{said}");
    }
    assert!(complaint(fresh.command(&backed, &["restore"]).output().unwrap()).contains("Another backup"));
    lock.unlock().unwrap();
    backed.create();
}

/// In a mount of its own, with a disk of so many bytes there.
fn on_a_small_disk(backed: &Backed, mounting: &str, command: &Command) -> Output {
    let mut inside = Command::new("unshare");
    inside
        .args(["--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("{mounting} && exec \"$@\""))
        .arg("sh");
    inside.arg(command.get_program()).args(command.get_args()).env("FOLDER", backed.folder());
    for (name, value) in command.get_envs() {
        inside.env(name, value.unwrap_or_default());
    }
    inside.output().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_said_and_leaves_nothing_half() {
    let backed = Backed::start().await;
    std::fs::create_dir_all(backed.folder()).unwrap();
    // Behind the failing backup, what is left on that disk is printed too.
    let mounting = "mount -t tmpfs -o size=700k,mode=700 none \"$FOLDER\"";
    let create = backed.command(&["create"]);
    let mut with_list = Command::new("sh");
    with_list.args(["-c", "\"$@\"; code=$?; find \"$FOLDER/backups\" -mindepth 1; exit $code", "sh"]);
    with_list.arg(create.get_program()).args(create.get_args());
    for (name, value) in create.get_envs() {
        with_list.env(name, value.unwrap_or_default());
    }
    let done = on_a_small_disk(&backed, mounting, &with_list);
    let left = String::from_utf8(done.stdout.clone()).unwrap();
    let said = complaint(done);
    assert!(said.contains("no room left") && said.contains("prune --keep"), "{said}");
    assert_eq!(left, "", "what was written of it is removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_on_a_disk_that_cannot_be_written_is_restored() {
    let backed = Backed::start().await;
    backed.create();
    let fresh = Fresh::beside(&backed).await;
    let mounting = "mount --bind \"$FOLDER\" \"$FOLDER\" && mount -o remount,bind,ro \"$FOLDER\"";
    let done = on_a_small_disk(&backed, mounting, &fresh.command(&backed, &["restore"]));
    assert!(done.status.success(), "{done:?}");
    let refused = on_a_small_disk(&backed, mounting, &backed.command(&["create"]));
    assert!(complaint(refused).contains("cannot be written"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_that_is_huge_or_of_a_newer_version_is_refused() {
    let backed = Backed::start().await;
    let name = backed.create();
    let path = backed.folder().join("backups").join(&name).join("manifest");
    let sound = std::fs::read_to_string(&path).unwrap();
    for (wrong, sentence) in [
        (sound.replace("\"format\":2", "\"format\":3,\"unknown\":[]"), "which is newer"),
        (sound.replace("\"format\":2", "\"format\":1"), "Use that version"),
        (sound.replace("\"lost\":0", "\"lost\":1"), "not as it was written"),
        (sound.replace("\"removed\":0", "\"removed\":7"), "not as it was written"),
        (sound[..sound.len() / 2].to_owned(), "not as it was written"),
        (format!("{}\n", "x".repeat(20_000_000)), "cannot be read"),
        (String::new(), "cannot be read"),
    ] {
        assert_ne!(wrong, sound);
        std::fs::write(&path, &wrong).unwrap();
        let said = backed.refused(&["verify"]);
        assert!(said.contains(sentence), "{sentence}: {said}");
    }
    // One that cannot be read is neither counted nor removed, and its files stay.
    let shared = files(&backed.folder().join("files")).len();
    for _ in 0..2 {
        let made = backed.command(&["create", "--keep", "1"]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        assert!(String::from_utf8_lossy(&made.stderr).contains(&name), "{made:?}");
    }
    assert!(path.exists() && files(&backed.folder().join("files")).len() == shared);
    std::fs::write(&path, &sound).unwrap();
    backed.backup(&["verify", &name]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_the_same_name_is_another_key() {
    let backed = Backed::start().await;
    let other = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=";
    let with = |key: &str, arguments: &[&str]| {
        backed.command(arguments).env("ROOKERY_BACKUP_KEY", key).output().unwrap()
    };
    let (first, second) = (format!("k:{BACKUP_KEY}"), format!("k:{other}"));
    let made = with(&first, &["create"]);
    assert!(made.status.success(), "{made:?}");
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let needed = made["backup"]["key"].as_str().unwrap();
    assert_eq!(needed.len(), 32);
    let told: serde_json::Value = serde_json::from_slice(&with(&first, &["keys"]).stdout).unwrap();
    assert_eq!(told, serde_json::json!([{ "name": "k", "fingerprint": needed }]));
    let fresh = Fresh::beside(&backed).await;
    let restoring = fresh.command(&backed, &["restore"]).env("ROOKERY_BACKUP_KEY", &second).output().unwrap();
    for said in [complaint(with(&second, &["verify"])), complaint(restoring)] {
        assert!(said.contains(needed) && said.contains("called k"), "{said}");
    }
    // The same key by another name is the same key.
    assert!(with(&format!("renamed:{BACKUP_KEY}"), &["verify"]).status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_may_make_no_database_is_told_what_it_needs() {
    let backed = Backed::start().await;
    backed.create();
    let role = format!("no_maker_{}", backed.site.database.name());
    let mut admin = PgConnection::connect(backed.site.database.url()).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("create role {role} login"))).execute(&mut admin).await.unwrap();
    let url = backed.site.database.url().replace("//postgres@", &format!("//{role}@"));
    let verify = backed.command(&["verify"]).env("ROOKERY_MIGRATE_URL", &url).output().unwrap();
    let said = complaint(verify);
    assert!(
        said.contains("was not tried") && said.contains(&format!("alter role {role} createdb")),
        "{said}"
    );
    sqlx::raw_sql(AssertSqlSafe(format!("drop role {role}"))).execute(&mut admin).await.unwrap();
    admin.close().await.unwrap();
}
