//! `rookery quickstart` on an empty database: what it prints works as it stands there.

use std::process::Command;

use serde_json::Value;
use sqlx::PgPool;

use rookery_world::site::{Site, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_database_becomes_something_to_try_with_one_command() {
    let site = Site::empty().await;
    let quickstart = |more: &[&str]| {
        let done = site.run(&[&["quickstart", "--json"], more].concat());
        assert!(done.status.success(), "{done:?}");
        serde_json::from_slice::<Value>(&done.stdout).expect("one JSON object and nothing else")
    };
    let made = quickstart(&[]);
    assert_eq!(made["serves"], false);
    let node = site.serve("one", &[]).await;
    // The curl line as it is printed, but for the port that the test had to take.
    let line = text(&made, "curl").replace("http://localhost:8080", &node.address);
    let done = Command::new("sh").args(["-c", &format!("{line} -sS")]).output().unwrap();
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"));
    assert!(answer["conversationId"].as_str().is_some_and(|id| id.starts_with("cnv_")), "{answer}");
    let listed = site.get(&node, "/api/v1/conversations?q=order", &text(&made, "key")).await.json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    let link = text(&made, "url").replace("http://localhost:8080", &node.address);
    assert_eq!(site.http.get(link).send().await.unwrap().status(), 200);

    // Again: another key and link, no second workspace.
    let again = quickstart(&["--empty"]);
    assert_eq!(again["workspace"], made["workspace"]);
    assert_ne!(again["key"], made["key"]);
    let words = site.run(&["quickstart"]);
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(
        words.contains("/sign-in/") && words.contains("curl -H") && words.contains("claude mcp add"),
        "{words}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_in_use_is_left_alone() {
    let site = Site::migrated().await;
    site.workspace();
    let refused = site.run(&["quickstart"]);
    assert_eq!(refused.status.code(), Some(1));
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(why.contains("There is a workspace already") && why.contains("--anyway"), "{why}");
}

/// A database with somebody else's tables, or of another version, is as it was afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_in_use_is_neither_migrated_nor_written() {
    let site = Site::empty().await;
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let refused = async |words: &str| {
        let tables = "select count(*) from pg_class where relnamespace >= 16384 or relnamespace = 'public'::regnamespace";
        let content = async || sqlx::query_scalar::<_, i64>(tables).fetch_one(&pool).await.unwrap();
        let before = content().await;
        // Also with the word that makes another workspace.
        for arguments in [&["quickstart"][..], &["quickstart", "--anyway"]] {
            let done = site.run(arguments);
            let why = String::from_utf8(done.stderr).unwrap();
            assert_eq!(done.status.code(), Some(1), "{why}");
            assert!(why.contains(words) && why.contains("in use. Name an empty one"), "{why}");
        }
        assert_eq!(content().await, before, "{words}");
    };
    let change = async |sql: &'static str| sqlx::raw_sql(sql).execute(&pool).await.unwrap();

    let done = site.command(&["quickstart"]).env("ROOKERY_BLOBS", "file:///proc/blobs").output().unwrap();
    let why = String::from_utf8(done.stderr).unwrap();
    assert!(why.contains("/proc/blobs cannot be made") && why.contains("ROOKERY_BLOBS"), "{why}");
    change("create schema shop; create table shop.orders (id int)").await;
    refused("holds shop.orders, which is not Rookery's").await;
    change("drop schema shop cascade").await;
    site.migrate();
    change("update _sqlx_migrations set version = 900000 where version = 1").await;
    refused("schema of a newer version").await;
    change("update _sqlx_migrations set version = 1 where version = 900000").await;
    change("update _sqlx_migrations set checksum = 'x' where version = 2").await;
    refused("a migration 2 that is not Rookery's").await;
    change("delete from _sqlx_migrations where version >= 2").await;
    refused("schema of an older version (1 of").await;
    let rows = "select (select count(*) from _sqlx_migrations), (select count(*) from directory.workspaces)";
    let left: (i64, i64) = sqlx::query_as(rows).fetch_one(&pool).await.unwrap();
    assert_eq!(left, (1, 0), "migrations and workspaces");
}

#[test]
fn manual_pages_and_completions_come_from_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(rookery_world::program());
    let made = command.arg("generate").arg(folder.path()).env_clear().status();
    assert!(made.unwrap().success());
    let page = std::fs::read_to_string(folder.path().join("man/rookery-admin-create-key.1")).unwrap();
    assert!(page.contains("\\-\\-scopes"), "{page}");
    assert!(!folder.path().join("man/rookery-generate.1").exists(), "a hidden command has no page");
    for file in ["rookery.bash", "_rookery", "rookery.fish"] {
        assert!(folder.path().join("completions").join(file).exists(), "{file}");
    }
}
