//! Shows of every rule that it can fail: each is fed snippets that break it.

use super::declared::{crowded_types, riddles};
use super::log_lines::twice_named_fields;
use super::rooms::{circles, crowds, decisions};
use super::source::File;
use super::tuple_parameters::tuple_parameters;
use super::{attacks, dependencies, headers, imports, lengths, names, ownership, time_and_chance, zones};

pub fn file(path: &str, text: &str) -> File {
    File { path: path.into(), text: text.into() }
}

#[track_caller]
pub fn refuses(problems: Vec<String>, words: &str) {
    assert!(problems.iter().any(|problem| problem.contains(words)), "{words:?} is not in {problems:?}");
}

#[test]
fn an_import_of_a_room_that_stands_behind_is_refused_however_it_is_written() {
    for text in [
        "use crate::replies::write;",
        "use crate::{bookings::book, replies::{write, undo}};",
        "use {std::fmt, crate::replies};",
        "use super::super::replies::write;",
        "pub use crate::replies::write as answer;",
        "fn f() { let x = crate::replies::write::one(); }",
        "fn f(x: &Vec<crate::replies::Draft>) {}",
        "mod inside { use super::super::super::{documents, replies}; }",
        "fn f() { json!({ \"x\": crate::replies::x() }) }",
    ] {
        let files = [file("crates/product/src/documents/request.rs", text)];
        refuses(imports(&files), "crates/product/src/documents/request.rs:1: documents imports replies");
    }
    refuses(
        imports(&[file("crates/product/src/documents/ask.rs", "use crate::bookings;")]),
        "imports bookings",
    );
    refuses(imports(&[file("crates/product/src/plumbing/pipe.rs", "")]), "no place in ORDER");
}

#[test]
fn an_import_of_a_room_that_stands_before_passes() {
    for (path, text) in [
        ("crates/product/src/replies/send.rs", "use crate::documents::ask; use super::write; use std::fmt;"),
        (
            "crates/product/src/replies/mod.rs",
            "mod write; use self::write::x; fn f() { crate::refuse!(\"no\") }",
        ),
        ("crates/product/src/documents/ask.rs", "use rookery_core::events::record; pub(crate) struct X;"),
        ("crates/product/src/lib.rs", "pub mod replies; use crate::replies::write;"),
        ("crates/base/src/app.rs", "use crate::clock::Clock;"),
    ] {
        assert_eq!(imports(&[file(path, text)]), [""; 0], "{path}");
    }
}

#[test]
fn a_file_without_its_rule_at_the_top_is_refused() {
    refuses(headers(&[file("crates/base/src/a.rs", "use std::fmt;\n//! late\n//! lines\n")]), "0 lines");
    refuses(headers(&[file("crates/base/src/a.rs", "//! one\n")]), "1 lines");
    refuses(headers(&[file("crates/base/src/a.rs", &"//! x\n".repeat(7))]), "7 lines");
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
        let files = [file("crates/mail/src/incoming/receive.rs", text)];
        refuses(ownership(&files, &migrations, owners), "writes notes, conversations owns it");
    }
    let statement =
        [file("crates/mail/src/incoming/receive.sql", "-- why\nupdate only notes as n set x = 1")];
    refuses(ownership(&statement, &migrations, owners), "writes notes");
    let dynamic =
        [file("crates/mail/src/incoming/receive.rs", "fn f() { format!(\"delete from {table}\") }")];
    refuses(ownership(&dynamic, &migrations, owners), "put together at run time");
    let own = [
        file("crates/core/src/conversations/notes.rs", "fn f() { query!(\"insert into notes values (1)\") }"),
        file(
            "crates/mail/src/incoming/read.rs",
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
    for path in [
        "crates/base/src/utils.rs",
        "crates/mail/src/incoming/helpers/quote.rs",
        "tests/it/common/mod.rs",
        "crates/base/src/service.rs",
    ] {
        refuses(names(&[file(path, "")]), path);
    }
    refuses(names(&[file("crates/mail/src/incoming/a.rs", "mod outer { mod misc { } }")]), "module `misc`");
}

#[test]
fn a_name_that_four_public_types_have_is_refused() {
    let four = |last: &str| {
        vec![
            file("crates/base/src/a.rs", "pub struct Row<'r>(&'r str);"),
            file("crates/core/src/b.rs", "mod inside { pub(crate) enum Row {} }"),
            file("crates/mail/src/c.rs", "pub(in crate::incoming) type Row = u8;"),
            file("crates/mail/src/d.rs", last),
        ]
    };
    for text in [
        "\npub trait Row {}",
        "\npub unsafe trait Row {}",
        "\npub(super) union Row { one: u8 }",
        "\nfn f() { pub struct Row; }",
        "\nmacro_rules! row { () => { pub struct Row; } }",
    ] {
        refuses(crowded_types(&four(text)), "4 public types are called Row");
        refuses(crowded_types(&four(text)), "crates/mail/src/d.rs:2");
    }
    for text in [
        "struct Row;",
        "impl Work for Mail { type Row = u8; }",
        "pub use super::c::Row; pub fn f(row: Row) {}",
        "#[cfg(test)] mod tests { pub struct Row; }",
        "pub struct MailRow { pub row: u8 }",
        "// pub struct Row;",
    ] {
        assert_eq!(crowded_types(&four(text)), [""; 0], "{text}");
    }
    let mut of_tests = four("");
    of_tests.push(file("crates/mail/src/d/tests.rs", "pub struct Row;"));
    assert_eq!(crowded_types(&of_tests), [""; 0]);
}

#[test]
fn a_function_that_is_a_riddle_is_refused() {
    for text in [
        "fn of() {}",
        "impl Mail { pub(crate) async fn of(self) {} }",
        "trait Says { fn told(&self) -> String; }",
        "pub const fn look<T>(one: T) {}",
        "#[cfg(test)] mod tests { fn look() {} }",
        "macro_rules! says { () => { fn told() {} } }",
    ] {
        let problems = riddles(&[file("crates/mail/src/incoming/a.rs", text)]);
        refuses(problems, "crates/mail/src/incoming/a.rs:1: fn ");
    }
    let right = "fn look_at(told: fn(u8) -> u8) { let of = told(1); of.told(); } fn tell() {} // fn of() {}";
    assert_eq!(riddles(&[file("crates/mail/src/incoming/a.rs", right)]), [""; 0]);
}

#[test]
fn a_second_clock_and_a_second_source_of_chance_are_refused() {
    for text in [
        "fn f() { let now = chrono::Utc::now(); }",
        "fn f() { g(SystemTime::now()) }",
        "use rand::{Rng, rng};",
        "fn f() -> u8 { rand::random() }",
    ] {
        refuses(time_and_chance(&[file("crates/mail/src/incoming/a.rs", text)]), "outside its file");
        assert_eq!(time_and_chance(&[file("crates/base/src/clock.rs", text)]), [""; 0]);
    }
}

#[test]
fn a_long_file_is_refused() {
    refuses(lengths(&[file("crates/base/src/a.rs", &"\n".repeat(601))]), "601 lines");
    assert_eq!(lengths(&[file("crates/base/src/a.rs", &"\n".repeat(600))]), [""; 0]);
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
            file("crates/base/src/clock.rs", "use rookery_mail::incoming::receive::take;"),
            file("crates/mail/src/incoming/receive.rs", "mod parse; fn f() { parse::parse(); }"),
            file("crates/mail/src/incoming/receive/parse.rs", last),
        ]
    };
    for back in [
        "use rookery_base::clock::Clock;",
        "use rookery_base::{error, clock};",
        "fn f() { rookery_base::clock::now() }",
        "fn f(x: &super::Mail) {}",
        "mod inside { use super::super::Mail; }",
        "fn f() { json!({ \"x\": super::x() }) }",
    ] {
        refuses(
            circles(&three(back)),
            "crates/mail/src/incoming/receive.rs imports crates/mail/src/incoming/receive/parse.rs",
        );
    }
    for onwards in
        ["use crate::text;", "use self::inner::X; mod inner {}", "// rookery_base::clock\nfn f() {}"]
    {
        assert_eq!(circles(&three(onwards)), [""; 0], "{onwards}");
    }
}

#[test]
fn a_crowded_room_is_refused() {
    let files: Vec<File> = (0..21).map(|n| file(&format!("crates/mail/src/incoming/n{n}.rs"), "")).collect();
    refuses(crowds(&files), "crates/mail/src/incoming: 21 files");
    assert_eq!(crowds(&files[..20]), [""; 0]);
}

#[test]
fn a_decision_that_nobody_can_look_up_is_refused() {
    // Put together here, so that the rule does not find them in this file.
    let [known, unknown] = [101, 102].map(|number| format!("D{number}"));
    let page = format!("| number | about |\n|---|---|\n| {known} | mail |\n");
    let cites = |number: &str| [file("crates/base/src/a.rs", &format!("//! Kept ({number})."))];
    refuses(decisions(&page, &cites(&unknown)), &format!("crates/base/src/a.rs cites {unknown}"));
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
            zones(&[file("crates/core/src/events/record.rs", text)]),
            "crates/core/src/events/record.rs:1: a zone in a statement",
        );
    }
    assert_eq!(zones(&[file("crates/core/src/events/record.rs", "(at at time zone 'UTC')::date")]), [""; 0]);
}

#[test]
fn a_field_that_a_line_of_the_log_has_already_is_refused() {
    for text in [
        "fn f() { tracing::warn!(message = %letter.message, \"it waits\"); }",
        "fn f() { if x { tracing::info!(%workspace, %message, \"it waits\"); } }",
        "fn f() { tracing::error!(?level, \"it waits\") }",
    ] {
        refuses(twice_named_fields(&[file("crates/base/src/app.rs", text)]), "twice");
    }
    let right = "fn f() { tracing::info!(message_id = %message, \"message\"); other!(message); }";
    assert_eq!(twice_named_fields(&[file("crates/base/src/app.rs", right)]), [""; 0]);
}

#[test]
fn a_function_that_takes_a_tuple_is_refused_however_it_is_written() {
    for text in [
        "fn f(pair: (A, B)) {}",
        "fn f((a, b): (A, B)) {}",
        "pub async fn f<T: Fn(A) -> B>(&self, n: i64, pair: &'a (A, B)) -> T {}",
        "fn f(pair: &mut (A,)) {}",
        "fn f(pair: Option<(A, B)>) {}",
        "fn f(pair: Option<&(A, B)>) {}",
        "fn f(&(a, b): &Pair) {}",
        "type Pair<'a> = (A, &'a B); fn f(pair: Pair<'_>) {}",
        "impl X { fn f(pair: (A, B)) {} }",
        "trait X { fn f(&self, pair: (A, B)); }",
        "mod inside { fn f() { for x in y { fn g(pair: (A, B)) {} } } }",
        "impl From<A> for B { fn from(a: A) -> B { fn f(pair: (A, B)) {} } }",
    ] {
        refuses(tuple_parameters(&[file("crates/base/src/app.rs", text)]), "crates/base/src/app.rs:1: ");
    }
    let pair = [file("crates/base/src/app.rs", "fn one(a: A) {}\nfn both(pair: (A, B)) {}")];
    assert_eq!(tuple_parameters(&pair), ["crates/base/src/app.rs:2: both takes a tuple"]);
}

#[test]
fn a_function_that_takes_no_tuple_passes() {
    for text in [
        "fn f(a: A, b: &B, nothing: (), Path(id): Path<(A, B)>) -> (A, B) {}",
        "fn f(pairs: &[(&str, String)], all: Vec<(A, B)>, run: impl Fn((A, B)) -> C) {}",
        "fn f(cause: &(dyn Error + 'static)) {}",
        "fn f() { let g = |(a, b): (A, B)| a + b; }",
        "impl<T> Trait for X<T> where T: for<'a> Fn(&'a A) { fn f(pair: (A, B)) {} }",
        "type Nothing = (); fn f(nothing: Nothing) {}",
        "proptest! { fn f(typed in \"(a, b)\") {} }",
    ] {
        assert_eq!(tuple_parameters(&[file("crates/base/src/app.rs", text)]), [""; 0], "{text}");
    }
}
