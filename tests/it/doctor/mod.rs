//! `rookery doctor`: each row is turned red alone by breaking exactly what it is about, on a server where everything else is
//! as it should be.

mod around;
mod beside;
mod command;
mod healthy;
mod mail;
mod page;
mod server;
mod work;

use rookery_upkeep::doctor::examine::NAMES;

use self::healthy::Healthy;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_server_has_every_row_and_none_is_wrong() {
    let healthy = Healthy::start().await;
    let report = healthy.examine(&[], &healthy.given()).await;
    let wrong: Vec<_> = report.rows.iter().filter(|row| !row.ok).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let names: Vec<&str> = report.rows.iter().map(|row| row.kind()).collect();
    assert_eq!(names, NAMES, "every row once, in its order");
    assert!(names.len() >= 40);
    for row in &report.rows {
        assert!(!row.expected.is_empty() && !row.found.is_empty(), "{row:?}");
    }
}

/// A row without a test that breaks it would be a promise.
#[test]
fn every_row_has_a_test_that_breaks_it() {
    let tests = [
        include_str!("around.rs"),
        include_str!("beside.rs"),
        include_str!("mail.rs"),
        include_str!("server.rs"),
        include_str!("work.rs"),
    ]
    .concat();
    for name in NAMES {
        let broken = [
            format!("only(\"{name}\""),
            format!("breaks(\"{name}\""),
            format!("off(\"{name}\""),
            format!("off_app(\"{name}\""),
        ];
        assert!(broken.iter().any(|call| tests.contains(call)), "no test breaks {name}");
    }
}
