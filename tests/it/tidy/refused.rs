//! Shows of every rule that it can fail: each is fed snippets that break it.

use super::rooms::{circles, crowds, decisions};
use super::source::File;
use super::{attacks, dependencies, headers, imports, lengths, names, ownership, time_and_chance, zones};

fn file(path: &str, text: &str) -> File {
    File { path: path.into(), text: text.into() }
}

/// A small tree with every module named in the snippets, and the file under test.
fn with_modules(path: &str, text: &str) -> Vec<File> {
    let known = ["src/clock.rs", "src/workspace/keys.rs", "src/incoming/receive.rs", "src/api/rest.rs"];
    let mut files: Vec<File> = known.iter().map(|path| file(path, "")).collect();
    files.push(file(path, text));
    files
}

#[track_caller]
fn refuses(problems: Vec<String>, words: &str) {
    assert!(problems.iter().any(|problem| problem.contains(words)), "{words:?} is not in {problems:?}");
}

#[test]
fn an_import_to_the_right_is_refused_however_it_is_written() {
    for text in [
        "use crate::incoming::receive;",
        "use crate::{clock::Clock, incoming::{receive, parse}};",
        "use {std::fmt, crate::incoming};",
        "use super::super::incoming::receive;",
        "pub use crate::incoming::receive as arrive;",
        "fn f() { let x = crate::incoming::receive::one(); }",
        "fn f(x: &Vec<crate::incoming::Mail>) {}",
        "mod inside { use super::super::super::{clock, incoming}; }",
        "fn f() { json!({ \"x\": crate::incoming::x() }) }",
    ] {
        let files = with_modules("src/events/record.rs", text);
        let wanted = "src/events/record.rs:1: events imports incoming";
        refuses(imports(&files), wanted);
    }
    refuses(imports(&with_modules("src/app.rs", "use crate::workspace::keys;")), "app imports workspace");
    refuses(imports(&with_modules("src/web/home.rs", "use crate::api::rest;")), "web imports api");
    refuses(
        imports(&with_modules("src/incoming/send.rs", "use crate::Receive;")),
        "`crate::Receive` is no module",
    );
    refuses(imports(&with_modules("src/incoming/send.rs", "use crate::*;")), "`crate::*` is no module");
    refuses(imports(&[file("src/plumbing/pipe.rs", "")]), "no place in BASE or ORDER");
}

#[test]
fn an_import_to_the_left_passes() {
    for (path, text) in [
        ("src/incoming/send.rs", "use crate::{clock, workspace::keys}; use super::receive; use std::fmt;"),
        ("src/incoming/mod.rs", "mod receive; use self::receive::x; fn f() { crate::refuse!(\"no\") }"),
        ("src/main.rs", "use crate::api::rest; pub(crate) struct X;"),
        ("src/app.rs", "use crate::clock::Clock;"),
    ] {
        assert_eq!(imports(&with_modules(path, text)), [""; 0], "{path}");
    }
}

#[test]
fn a_file_without_its_rule_at_the_top_is_refused() {
    refuses(headers(&[file("src/a.rs", "use std::fmt;\n//! late\n//! lines\n")]), "0 lines");
    refuses(headers(&[file("src/a.rs", "//! one\n")]), "1 lines");
    refuses(headers(&[file("src/a.rs", &"//! x\n".repeat(7))]), "7 lines");
    refuses(headers(&[file("tests/it/a.rs", "use std::fmt;\n")]), "does not open");
}

#[test]
fn a_write_to_a_table_of_another_folder_is_refused() {
    let migrations =
        [file("migrations/1.sql", "create table notes (x int); -- create table not_this (x int)")];
    let owners: &[(&str, &[&str])] = &[("conversations", &["notes"])];
    for text in [
        "fn f() { query!(\"insert into notes (x) values ($1)\", 1) }",
        "fn f() { sqlx::query(r#\"with a as (DELETE FROM \"notes\" returning x) select 1\"#) }",
        "const SQL: &str = \"update public.notes n set x = 1\";",
        "fn f() { query!(\"insert into \" + \"notes values (1)\") }",
        "fn f() { copy_in(\"copy notes from stdin\") }",
    ] {
        let files = [file("src/incoming/receive.rs", text)];
        refuses(ownership(&files, &migrations, owners), "writes notes, conversations owns it");
    }
    let statement = [file("src/incoming/receive.sql", "-- why\nupdate only notes as n set x = 1")];
    refuses(ownership(&statement, &migrations, owners), "writes notes");
    let dynamic = [file("src/incoming/receive.rs", "fn f() { format!(\"delete from {table}\") }")];
    refuses(ownership(&dynamic, &migrations, owners), "put together at run time");
    let own = [
        file("src/conversations/notes.rs", "fn f() { query!(\"insert into notes values (1)\") }"),
        file(
            "src/incoming/read.rs",
            "/// Does not update notes set.\nfn f() { query!(\"select x from notes for update\") }",
        ),
    ];
    assert_eq!(ownership(&own, &migrations, owners), [""; 0]);
}

#[test]
fn a_table_without_an_owner_is_refused() {
    let made = "create unlogged table if not exists \"a.b\" (x int); create table c partition of a.b; create table d (); drop table d;";
    let migrations = [file("migrations/1.sql", made)];
    let problems = ownership(&[], &migrations, &[("incoming", &["gone"])]);
    assert_eq!(problems, ["OWNERS: a.b has no owner", "OWNERS: gone is in no migration"]);
}

#[test]
fn a_name_that_says_nothing_is_refused() {
    for path in ["src/utils.rs", "src/incoming/helpers/quote.rs", "tests/it/common/mod.rs", "src/service.rs"]
    {
        refuses(names(&[file(path, "")]), path);
    }
    refuses(names(&[file("src/incoming/a.rs", "mod outer { mod misc { } }")]), "module `misc`");
}

#[test]
fn a_second_clock_and_a_second_source_of_chance_are_refused() {
    for text in [
        "fn f() { let now = chrono::Utc::now(); }",
        "fn f() { g(SystemTime::now()) }",
        "use rand::{Rng, rng};",
        "fn f() -> u8 { rand::random() }",
    ] {
        refuses(time_and_chance(&[file("src/incoming/a.rs", text)]), "outside its file");
        assert_eq!(time_and_chance(&[file("src/clock.rs", text)]), [""; 0]);
    }
}

#[test]
fn a_long_file_is_refused() {
    refuses(lengths(&[file("src/a.rs", &"\n".repeat(601))]), "601 lines");
    assert_eq!(lengths(&[file("src/a.rs", &"\n".repeat(600))]), [""; 0]);
}

#[test]
fn a_dependency_without_a_reason_is_refused() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nserde = \"1\"\nurl.version = \"2\"\n[dev-dependencies]\nsyn = \"2\"\n";
    let page = "| `serde` | reads |\n| `rand` | draws |\n| `url` | links |\n## Tools\n| `just` | runs |\n";
    let problems = dependencies(manifest, page);
    assert_eq!(
        problems,
        ["syn has no row in docs/dependencies.md", "docs/dependencies.md explains rand, which is gone"]
    );
}

#[test]
fn an_attack_without_a_test_is_refused() {
    let files = [file("tests/it/mail/floods.rs", "async fn mail_that_drips() {}")];
    let page = |test: &str| format!("| attack | what happens | test |\n|---|---|---|\n| A | B | {test} |\n");
    assert_eq!(attacks(&page("`mail::floods::mail_that_drips`"), &files), Vec::<String>::new());
    refuses(
        attacks(&page("`mail::floods::mail_that_flies`"), &files),
        "not there: mail::floods::mail_that_flies",
    );
    refuses(attacks(&page("none"), &files), "names no test");
}

#[test]
fn a_circle_of_imports_is_refused_however_it_is_written() {
    let three = |last: &str| {
        vec![
            file("src/clock.rs", "use crate::incoming::receive::take;"),
            file("src/incoming/receive.rs", "mod parse; fn f() { parse::parse(); }"),
            file("src/incoming/receive/parse.rs", last),
        ]
    };
    for back in [
        "use crate::clock::Clock;",
        "use crate::{error, clock};",
        "fn f() { crate::clock::now() }",
        "use super::super::super::clock;",
        "fn f(x: &super::Mail) {}",
        "mod inside { use super::super::Mail; }",
        "fn f() { json!({ \"x\": super::x() }) }",
    ] {
        refuses(circles(&three(back)), "src/incoming/receive.rs imports src/incoming/receive/parse.rs");
    }
    for onwards in ["use crate::text;", "use self::inner::X; mod inner {}", "// crate::clock\nfn f() {}"] {
        assert_eq!(circles(&three(onwards)), [""; 0], "{onwards}");
    }
}

#[test]
fn a_crowded_room_is_refused() {
    let files: Vec<File> = (0..21).map(|n| file(&format!("src/incoming/n{n}.rs"), "")).collect();
    refuses(crowds(&files), "src/incoming: 21 files");
    assert_eq!(crowds(&files[..20]), [""; 0]);
}

#[test]
fn a_decision_that_nobody_can_look_up_is_refused() {
    // Put together here, so that the rule does not find them in this file.
    let [known, unknown] = [101, 102].map(|number| format!("D{number}"));
    let page = format!("| number | about |\n|---|---|\n| {known} | mail |\n");
    let cites = |number: &str| [file("src/a.rs", &format!("//! Kept ({number})."))];
    refuses(decisions(&page, &cites(&unknown)), &format!("src/a.rs cites {unknown}"));
    refuses(decisions(&page, &[]), &format!("explains {known}, which nothing cites"));
    assert_eq!(decisions(&page, &cites(&known)), [""; 0]);
}

#[test]
fn a_zone_in_a_statement_is_refused() {
    for text in [
        "($1 at time zone time_zone)",
        "x AT TIME ZONE 'Europe/Berlin'",
        "at time zone 'UTC' + at time zone z",
    ] {
        refuses(
            zones(&[file("src/events/record.rs", text)]),
            "src/events/record.rs:1: a zone in a statement",
        );
    }
    assert_eq!(zones(&[file("src/events/record.rs", "(at at time zone 'UTC')::date")]), [""; 0]);
}
