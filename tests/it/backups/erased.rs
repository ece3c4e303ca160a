//! Whoever was erased stays erased: an older backup that comes back, also on a machine where nothing else is left, erases
//! them again before the command ends.

use super::{Backed, Fresh};
use rookery_world::canary::{CANARY, rows_with_it};

async fn left_of(fresh: &Fresh) -> Vec<String> {
    let pool = sqlx::PgPool::connect(fresh.database.url()).await.unwrap();
    let mut left = rows_with_it(&pool).await;
    pool.close().await;
    let found = std::process::Command::new("grep").args(["-rl", CANARY]).arg(&fresh.blobs).output().unwrap();
    left.extend(String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned));
    left
}

/// proves: APP-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_of_an_older_backup_erases_again() {
    let backed = Backed::start().await;
    let before = backed.create();
    let address = format!("one@{CANARY}.example");
    backed.site.admin(&[
        "erase-contact",
        "--workspace",
        &backed.workspace,
        "--person",
        &backed.owner,
        "--address",
        &address,
    ]);
    // Of the machine only its backups are left; the newest knows of the erasure.
    backed.create();
    let fresh = Fresh::beside(&backed).await;
    let restored = fresh.restore(&backed, &[&before]);
    assert_eq!(restored["backup"]["name"], before.as_str());
    assert_eq!(restored["erasedAgain"], 1, "{restored}");
    assert_eq!(left_of(&fresh).await, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_erasure_everybody_comes_back() {
    let backed = Backed::start().await;
    backed.create();
    let fresh = Fresh::beside(&backed).await;
    assert_eq!(fresh.restore(&backed, &[])["erasedAgain"], 0);
    assert!(left_of(&fresh).await.len() > 3, "the test above looks for something");
}
