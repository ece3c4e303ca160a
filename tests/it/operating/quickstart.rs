//! `rookery quickstart` on an empty database: what it prints works as it stands there.

use std::process::Command;

use serde_json::Value;

use crate::world::site::{Site, text};

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

#[test]
fn manual_pages_and_completions_come_from_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rookery"));
    let made = command.arg("generate").arg(folder.path()).env_clear().status();
    assert!(made.unwrap().success());
    let page = std::fs::read_to_string(folder.path().join("man/rookery-admin-create-key.1")).unwrap();
    assert!(page.contains("\\-\\-scopes"), "{page}");
    assert!(!folder.path().join("man/rookery-generate.1").exists(), "a hidden command has no page");
    for file in ["rookery.bash", "_rookery", "rookery.fish"] {
        assert!(folder.path().join("completions").join(file).exists(), "{file}");
    }
}
