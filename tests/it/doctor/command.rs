//! The command: an array of rows, an exit code, and what changed since the last run.

use serde_json::Value;

use rookery_world::site::Site;

fn rows(stdout: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stdout).unwrap();
    serde_json::from_str::<Value>(text).unwrap().as_array().unwrap().clone()
}

fn is_ok<'r>(rows: &'r [Value], name: &str) -> Option<&'r Value> {
    rows.iter().find(|row| row["name"] == name).map(|row| &row["ok"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_tells_rows_an_exit_code_and_what_changed() {
    let site = Site::empty().await;
    let before = site.run(&["doctor", "--json"]);
    assert_eq!(before.status.code(), Some(1), "{before:?}");
    let first = rows(&before.stdout);
    assert_eq!(is_ok(&first, "migrations"), Some(&Value::Bool(false)), "{first:?}");
    for row in &first {
        let fields: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["name", "ok", "found", "expected", "fix"], "{row}");
        let (ok, fix) = (row["ok"].as_bool().unwrap(), row["fix"].as_str().unwrap());
        assert_eq!(ok, fix.is_empty(), "{row}");
    }
    assert!(!String::from_utf8_lossy(&before.stderr).contains("Since the last run"), "it is the first");

    site.migrate();
    let after = site.run(&["doctor", "--json"]);
    let second = rows(&after.stdout);
    assert_eq!(is_ok(&second, "migrations"), Some(&Value::Bool(true)), "{second:?}");
    let said = String::from_utf8(after.stderr).unwrap();
    assert!(said.contains("Since the last run: migrations is right again"), "{said}");
    assert!(said.contains("Since the last run: directory was not looked at before"), "{said}");
    assert!(said.contains("checks are not right"), "{said}");

    let plain = site.run(&["doctor"]);
    let told = String::from_utf8(plain.stdout).unwrap();
    assert!(told.contains("WRONG  backup ") && told.contains("ok     migrations"), "{told}");
    let again = String::from_utf8(plain.stderr).unwrap();
    assert!(!again.contains("Since the last run"), "nothing changed: {again}");
    let secrets = [rookery_world::site::SECRET_KEY, site.database.url()];
    assert!(secrets.iter().all(|secret| !told.contains(secret)), "{told}");
}
