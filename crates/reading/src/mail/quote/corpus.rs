//! Runs the mails of tests/quotes/ through parsing and quote removal, and compares with the text a person would
//! keep. The README there lists the inexact ones; a test keeps that list true.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::mail::parse::parse;

struct Case {
    name: String,
    wanted: String,
    kept: String,
}

/// proves: CONV-14
#[test]
fn the_mails_of_many_programs_are_kept_as_a_person_would_keep_them() {
    let cases = cases();
    let mut other = BTreeSet::new();
    for case in cases.iter().filter(|case| lines(&case.kept) != lines(&case.wanted)) {
        println!("--- {} is kept as\n{}\n", case.name, case.kept);
        other.insert(case.name.as_str());
    }
    let exact = cases.len() - other.len();
    println!("{exact} of {} mails are kept exactly; not these: {other:#?}", cases.len());
    assert!(cases.len() >= 150, "the corpus lost its mails");
    assert!(exact * 100 >= cases.len() * 97, "{exact} of {}", cases.len());
    let readme = std::fs::read_to_string(folder().join("README.md")).expect("the README");
    assert!(readme.contains(&format!("{exact} of {}", cases.len())), "the README has another figure");
    let listed: BTreeSet<&str> =
        readme.lines().filter_map(|l| l.strip_prefix("- `")?.split('`').next()).collect();
    assert_eq!(listed, other, "the README lists others");
}

/// proves: CONV-14
#[test]
fn no_mail_loses_a_word_its_writer_wrote() {
    let losers: Vec<String> =
        cases().into_iter().filter(|case| !words_survive(&case.wanted, &case.kept)).map(|c| c.name).collect();
    assert!(losers.is_empty(), "{losers:#?}");
}

/// Where a mail has both forms the plain one is used; the HTML form must give the same result.
#[test]
fn the_html_form_of_a_mail_is_kept_like_its_plain_form() {
    let mut other = Vec::new();
    let mut tried = 0;
    for path in paths() {
        let raw = String::from_utf8_lossy(&std::fs::read(&path).expect("a mail")).into_owned();
        if raw.contains("multipart/alternative") {
            let html = raw.replacen("Content-Type: text/plain", "Content-Type: text/x-amp-html", 1);
            let case = read(&path, html.as_bytes());
            tried += 1;
            if words(&case.kept) != words(&case.wanted) {
                println!("--- {} is kept as\n{}\n", case.name, case.kept);
                other.push(case.name);
            }
        }
    }
    println!("{} of {tried}", tried - other.len());
    assert!(other.is_empty(), "{other:#?}");
}

/// Without the targets of links, which only plain text shows.
fn words(text: &str) -> String {
    let bare = text.split("<https:").next().unwrap_or(text);
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/quotes")
}

fn cases() -> Vec<Case> {
    paths().iter().map(|path| read(path, &std::fs::read(path).expect("a mail"))).collect()
}

fn paths() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the corpus")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "eml"))
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path, raw: &[u8]) -> Case {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mail = parse(raw).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    let wanted = std::fs::read_to_string(path.with_extension("txt")).expect("the text to keep");
    Case { name, wanted, kept: own_words(&mail) }
}

/// Blank lines and runs of spaces are layout; lines and words are what counts.
fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.trim_matches(['>', ' ']).is_empty())
        .collect()
}

fn words_survive(wanted: &str, kept: &str) -> bool {
    let mut kept = kept.split_whitespace();
    wanted.split_whitespace().all(|word| kept.any(|other| other == word))
}
