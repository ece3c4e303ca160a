//! A rule about the doors: what is read for a workspace takes a connection of its share (`App::connection_of`), so that whoever
//! floods one workspace takes nothing from others. A connection of nobody's share is for what has to find out of which
//! workspace somebody is, and those places are listed.

use super::source::{File, tree};
use super::{assert_tidy, refused};

const DOORS: &[&str] = &["crates/web/src", "crates/api/src", "crates/http/src"];

/// Short statements by a token, an address or a session.
const BEFORE_ANYBODY_IS_KNOWN: &[&str] = &[
    "crates/api/src/door.rs",
    "crates/api/src/sending_reports.rs",
    "crates/web/src/door.rs",
    "crates/web/src/session.rs",
    "crates/web/src/sign_in/code.rs",
    "crates/web/src/sign_in/form.rs",
    "crates/web/src/sign_in/join.rs",
    "crates/web/src/sign_in/link.rs",
];

#[test]
fn doors_take_connections_of_a_workspaces_share() {
    let files = tree(DOORS);
    assert!(files.iter().any(|file| file.path == BEFORE_ANYBODY_IS_KNOWN[0]), "the doors are there");
    assert_tidy(of_nobodys_share(&files));
}

fn of_nobodys_share(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| !BEFORE_ANYBODY_IS_KNOWN.contains(&file.path.as_str())) {
        let text: String = file.text.split_whitespace().collect();
        let taken = ["app.connection()", "app().connection()"];
        if taken.iter().any(|taken| text.contains(taken)) {
            problems.push(format!("{}: a connection of nobody's share; take connection_of", file.path));
        }
    }
    problems
}

#[test]
fn a_page_that_takes_a_connection_of_nobodys_share_is_refused() {
    for text in ["app.connection().await?", "visit\n    .app()\n    .connection()"] {
        let page = [refused::file("crates/web/src/customer/new.rs", text)];
        refused::refuses(of_nobodys_share(&page), "connection_of");
    }
    let page = [refused::file("crates/web/src/customer/new.rs", "app.connection_of(workspace).await?")];
    assert_eq!(of_nobodys_share(&page), [""; 0]);
}
