//! An older backup comes back, database and files: what was erased since is erased again before the service serves. The
//! audit log is checked on the command line too, where its exit code counts.

use std::process::Command;

use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};

use rookery_world::canary::{CANARY, rows_with_it};
use rookery_world::site::Site;

async fn on_the_server(site: &Site, statements: &[String]) {
    let url = site.database.url().replace(&format!("/{}", site.database.name()), "/postgres");
    let mut conn = PgConnection::connect(&url).await.expect("the server is there");
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe(statement.as_str())).execute(&mut conn).await.expect(statement);
    }
    conn.close().await.unwrap();
}

/// Where the canary stands: tables and files.
pub async fn left_of(site: &Site) -> Vec<String> {
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let mut left = rows_with_it(&pool).await;
    pool.close().await;
    let found = Command::new("grep").args(["-rl", CANARY]).arg(site.folder.join("blobs")).output().unwrap();
    left.extend(String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned));
    left
}

/// proves: APP-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_from_before_an_erasure_erases_again_before_it_serves() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let inbox = site.inbox(&workspace, "help@acme.example", "Help");
    let file = site.folder.join("one.eml");
    let filler = "A line of the file.\r\n".repeat(40_000);
    let mail = format!(
        "Message-ID: <one@customer.example>\r\nFrom: Ada {CANARY} <ada@{CANARY}.example>\r\nTo: help@acme.example\r\n\
         Subject: About {CANARY}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nI am {CANARY}.\r\n--b\r\nContent-Type: text/plain\r\n\
         Content-Disposition: attachment; filename=\"{CANARY}.txt\"\r\n\r\n{CANARY}\r\n{filler}\r\n--b--\r\n"
    );
    std::fs::write(&file, mail).unwrap();
    site.admin(&["import-mail", "--workspace", &workspace, "--mailbox", &inbox, file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert!(left_of(&site).await.len() > 3, "there is something to erase");

    // The backup: the database, and the files.
    let (name, kept) = (site.database.name().to_owned(), site.folder.join("kept"));
    on_the_server(&site, &[format!("create database {name}_kept template {name}")]).await;
    assert!(
        Command::new("cp").arg("-r").arg(site.folder.join("blobs")).arg(&kept).status().unwrap().success()
    );

    let address = format!("ada@{CANARY}.example");
    let done =
        site.admin(&["erase-contact", "--workspace", &workspace, "--person", &owner, "--address", &address]);
    assert_eq!(done["conversations"], 1, "{done}");
    assert_eq!(done["documents"], 1, "{done}");
    assert_eq!(left_of(&site).await, [] as [String; 0]);

    on_the_server(
        &site,
        &[format!("drop database {name}"), format!("create database {name} template {name}_kept")],
    )
    .await;
    let back = format!("cp -r {}/. {}", kept.display(), site.folder.join("blobs").display());
    assert!(Command::new("sh").args(["-c", &back]).status().unwrap().success());
    std::fs::remove_dir_all(&kept).unwrap();
    assert!(left_of(&site).await.len() > 3, "the backup has it");

    let node = site.serve("one", &[]).await;
    assert_eq!(left_of(&site).await, [] as [String; 0], "it served before it had erased");
    assert!(node.log().contains("an erasure is done again"), "{}", node.log());
    assert!(!node.log().contains(CANARY), "{}", node.log());
    drop(node);
    let node = site.serve("two", &[]).await;
    assert!(!node.log().contains("an erasure is done again"), "once is enough: {}", node.log());
    drop(node);
    on_the_server(&site, &[format!("drop database {name}_kept")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_audit_log_ends_the_command_with_1_and_its_place() {
    let site = Site::migrated().await;
    let (workspace, _) = site.workspace();
    for n in 0..4 {
        site.inbox(&workspace, &format!("n{n}@acme.example"), "Help");
    }
    let verify = ["admin", "audit", "verify", "--workspace", &workspace];
    let sound = site.run(&verify);
    let line = String::from_utf8(sound.stdout).unwrap();
    assert_eq!(sound.status.code(), Some(0), "{line}");
    let head = line.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(site.run(&[&verify[..], &["--head", &head]].concat()).status.code(), Some(0));
    let wrong = site.run(&[&verify[..], &["--head", "not a head"]].concat());
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");

    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let (n, mac, signed): (i64, Vec<u8>, Vec<u8>) =
        sqlx::query_as("select n, mac, signed from audit_heads").fetch_one(&pool).await.unwrap();
    // Somebody with an older copy of the database puts the whole log back: only the log of the server knows better.
    site.inbox(&workspace, "last@acme.example", "Last");
    let told = site.run(&verify);
    let newest = String::from_utf8(told.stdout).unwrap().trim().rsplit(' ').next().unwrap().to_owned();
    sqlx::query("delete from audit_entries where n > $1").bind(n).execute(&pool).await.unwrap();
    sqlx::query("update audit_heads set n = $1, mac = $2, signed = $3")
        .bind(n)
        .bind(&mac)
        .bind(&signed)
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(site.run(&verify).status.code(), Some(0), "by itself it is a sound chain");
    let rolled_back = site.run(&[&verify[..], &["--head", &newest]].concat());
    assert_eq!(rolled_back.status.code(), Some(1), "{rolled_back:?}");

    sqlx::query("update audit_entries set subject_name = 'Nothing' where n = 2")
        .execute(&pool)
        .await
        .unwrap();
    let broken = site.run(&verify);
    let line = String::from_utf8(broken.stdout).unwrap();
    assert_eq!(broken.status.code(), Some(1), "{line}");
    assert!(line.contains("broken at entry 2"), "{line}");
    pool.close().await;
}
