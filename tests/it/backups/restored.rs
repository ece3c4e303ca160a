//! What a backup brings back: every row and every file, on another machine, also of an older version and with other roles.

use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_upkeep::backups::{create, verify};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};

use super::{BACKUP_KEY, Backed, Fresh, complaint, files, rows};
use rookery_world::canary::CANARY;
use rookery_world::cluster::cluster;
use rookery_world::site::SECRET_KEY;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_restored_with_every_row_and_every_file() {
    let backed = Backed::start().await;
    let made = backed.backup(&["create"]);
    assert!(made["backup"]["rows"].as_i64().unwrap() > 50, "{made}");
    let copied = made["backup"]["files"]["newCount"].as_u64().unwrap();
    assert!(copied >= 2, "the raw mail and its file: {made}");
    let text: Vec<u8> = files(&backed.folder()).into_values().flatten().collect();
    assert!(!text.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()), "it is encrypted");

    // A database of somebody else's that has the name is left alone.
    let mut server = PgConnection::connect(backed.site.database.url()).await.unwrap();
    let foreign = format!("{}_verify", backed.site.database.name());
    sqlx::raw_sql(AssertSqlSafe(format!("create database {foreign}"))).execute(&mut server).await.unwrap();
    let url = backed.site.database.url().replace(backed.site.database.name(), &foreign);
    let mut theirs = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("create table precious (x int)").execute(&mut theirs).await.unwrap();
    theirs.close().await.unwrap();
    assert!(backed.refused(&["verify"]).contains("not one of ours"));
    sqlx::raw_sql(AssertSqlSafe(format!("drop database {foreign}"))).execute(&mut server).await.unwrap();

    let proven = backed.backup(&["verify"]);
    assert_eq!(proven["proven"]["name"], made["backup"]["name"], "{proven}");
    let listed = backed.backup(&["list"]);
    assert!(listed[0]["proven"]["at"].is_string(), "{listed}");
    let left: i64 = sqlx::query_scalar("select count(*) from pg_database where datname like $1")
        .bind(format!("{}%verify", backed.site.database.name()))
        .fetch_one(&mut server)
        .await
        .unwrap();
    assert_eq!(left, 0, "the database to try in is gone");
    server.close().await.unwrap();

    // Only what is new is copied again.
    backed.mail("two", 10_000);
    let second = backed.backup(&["create"]);
    let new = second["backup"]["files"]["newCount"].as_u64().unwrap();
    let all = second["backup"]["files"]["count"].as_u64().unwrap();
    assert!(new > 0 && new < all && all == copied + new, "{second}");

    let fresh = Fresh::beside(&backed).await;
    let restored = fresh.restore(&backed, &[]);
    assert_eq!(restored["backup"]["name"], second["backup"]["name"], "the newest: {restored}");
    assert_eq!(rows(fresh.database.url()).await, rows(backed.site.database.url()).await);
    let mut there = files(&backed.site.folder.join("blobs"));
    there.retain(|name, _| !name.contains("/doctor/"));
    assert_eq!(files(&fresh.blobs), there);
    let mut there = PgConnection::connect(fresh.database.url()).await.unwrap();
    sqlx::raw_sql("update workspaces set name = 'Changed'").execute(&mut there).await.unwrap();
    there.close().await.unwrap();
    let again = complaint(fresh.command(&backed, &["restore"]).output().unwrap());
    assert!(again.contains("not empty"), "{again}");

    let blobs = format!("file://{}", fresh.blobs.display());
    let settings = [("ROOKERY_DATABASE_URL", fresh.database.url()), ("ROOKERY_BLOBS", blobs.as_str())];
    let (_, key) = backed.site.key(&backed.workspace, &backed.owner, "bot", "live");
    let node = backed.site.serve("restored", &settings).await;
    assert!(!node.log().contains("ERROR"), "{}", node.log());
    let unknown = backed.site.get(&node, "/api/v1/conversations", &key).await;
    assert_eq!(unknown.status, 401, "a key of after the backup is not there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_backups_go_and_what_they_alone_named_goes_with_them() {
    let backed = Backed::start().await;
    let first = backed.create();
    backed.backup(&["verify"]);
    for _ in 0..3 {
        backed.create();
    }
    let made = backed.backup(&["create", "--keep", "2"]);
    assert_eq!(made["removed"]["backups"], 2, "{made}");
    let names = |listed: &serde_json::Value| -> Vec<String> {
        let all = listed.as_array().unwrap().iter();
        all.map(|one| one["backup"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let left = names(&backed.backup(&["list"]));
    assert_eq!(left.len(), 3, "two, and the one that was proven: {left:?}");
    assert_eq!(left[0], first);
    backed.backup(&["verify", &first]);
    backed.backup(&["verify"]);
    let now = names(&backed.backup(&["list"]));
    let pruned = backed.backup(&["create", "--keep", "1"]);
    assert_eq!(pruned["removed"]["backups"], 2, "{pruned}: {now:?}");
    backed.backup(&["verify"]);
}

/// The database of an earlier version is backed up as it is, and comes back with the schema of this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_an_older_version_comes_back_into_this_one() {
    let older = cluster().database("template1").await;
    let pool = PgPool::connect(older.url()).await.unwrap();
    MIGRATIONS.run_to(40, &pool).await.unwrap();
    sqlx::raw_sql(
        "insert into workspaces (id, name, slug, plan, created_at) values (1, 'Acme', 'acme', 'pro', now());
         insert into directory.workspaces (id, slug) values (1, 'acme')",
    )
    .execute(&pool)
    .await
    .unwrap();
    pool.close().await;
    let folder = tempfile::tempdir().unwrap();
    let app = |database: &str, blobs: &str| {
        let at = |name: &str| folder.path().join(name).display().to_string();
        let given = [
            ("ROOKERY_DATABASE_URL", database.to_owned()),
            ("ROOKERY_BLOBS", format!("file://{}", at(blobs))),
            ("ROOKERY_SECRET_KEY", SECRET_KEY.to_owned()),
            ("ROOKERY_BACKUPS", at("backups")),
            ("ROOKERY_BACKUP_KEY", BACKUP_KEY.to_owned()),
        ];
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), value));
        App::new(Config::load(None, given).unwrap(), Clock::system(), Random::system()).unwrap()
    };
    let before = app(older.url(), "old");
    let made = create::create(&before, &|_, _| {}).await.unwrap();
    assert_eq!(made.schema, 40);
    verify::verify(&before, None, &|_, _| {}).await.unwrap();

    let backed = Backed::start().await;
    let fresh = Fresh::beside(&backed).await;
    let mut restoring = fresh.command(&backed, &["restore"]);
    let done = restoring.env("ROOKERY_BACKUPS", folder.path().join("backups")).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let mut conn = PgConnection::connect(fresh.database.url()).await.unwrap();
    let (name, newest): (String, i64) =
        sqlx::query_as("select name, (select max(version) from _sqlx_migrations) from workspaces")
            .fetch_one(&mut conn)
            .await
            .unwrap();
    assert_eq!((name.as_str(), newest), ("Acme", MIGRATIONS.iter().map(|one| one.version).max().unwrap()));
    conn.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_come_back_and_a_role_that_is_missing_is_named() {
    let backed = Backed::start().await;
    let role = format!("service_of_{}", backed.site.database.name());
    let mut admin = PgConnection::connect(backed.site.database.url()).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("create role {role} login"))).execute(&mut admin).await.unwrap();
    let granted = backed.site.run(&["migrate", "--grant-to", &role]);
    assert!(granted.status.success(), "{granted:?}");
    backed.create();
    let fresh = Fresh::beside(&backed).await;
    fresh.restore(&backed, &[]);
    let url = fresh.database.url().replace("//postgres@", &format!("//{role}@"));
    let mut service = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("select keep_day('events'); select from workspaces").execute(&mut service).await.unwrap();
    assert!(sqlx::raw_sql("create table mine (x int)").execute(&mut service).await.is_err());
    service.close().await.unwrap();

    let mut there = PgConnection::connect(fresh.database.url()).await.unwrap();
    for conn in [&mut admin, &mut there] {
        sqlx::raw_sql(AssertSqlSafe(format!("drop owned by {role}"))).execute(conn).await.unwrap();
    }
    sqlx::raw_sql(AssertSqlSafe(format!("drop role {role}"))).execute(&mut admin).await.unwrap();
    let other = Fresh::beside(&backed).await;
    let said = complaint(other.command(&backed, &["restore"]).output().unwrap());
    assert!(said.contains(&format!("create role {role}")), "{said}");
    other.restore(&backed, &["--without-rights"]);
    let mut conn = PgConnection::connect(other.database.url()).await.unwrap();
    let open: bool =
        sqlx::query_scalar("select has_function_privilege('public', 'keep_day(text)', 'execute')")
            .fetch_one(&mut conn)
            .await
            .unwrap();
    assert!(!open, "what runs as its owner is not for everybody");
    for conn in [conn, there, admin] {
        conn.close().await.unwrap();
    }
}
