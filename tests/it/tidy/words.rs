//! Words that nobody says to a reader: they are how a translation sounds (`told of`, `anew`, `whoever`). They are in no
//! page, sentence of the program, help text or document that people read. Comments and names may have them.

use super::assert_tidy;
use super::source::{File, tree};

const UNSAID: &[&str] = &["mend", "mends", "mended", "anew", "stand", "stands", "told", "whoever"];

/// A model's prompt, which was measured as it is, and German phrases (`stand ~ bestellung`).
const NOT_FOR_READERS: &[&str] =
    &["crates/assistants/src/read/ask.rs", "crates/assistants/src/sort/phrases.rs"];

/// Their doc comments are shown: as help of the command line, and in the description of the API.
const SHOWN_COMMENTS: &[&str] =
    &["crates/rookery/src/cli/", "crates/api/src/operations/", "crates/api/src/wire.rs"];

/// What SQL begins with, in small letters.
const SQL: &[&str] = &[
    "select", "insert", "update", "delete", "with", "set", "create", "alter", "drop", "truncate", "lock",
    "listen", "begin", "grant",
];

/// Their sentences are not ours to change.
const FIXED: &[&str] = &["docs/requirements.md", "docs/specification.md"];

#[test]
fn pages_speak_as_people_do() {
    let mut problems = Vec::new();
    for file in tree(&["crates/web", "crates/site"]) {
        problems.extend(unsaid(&file));
    }
    assert_tidy(problems);
}

#[test]
fn programs_speak_as_people_do() {
    let mut problems = Vec::new();
    for file in tree(&["crates"]).iter().filter(|file| file.is_rust()) {
        if !NOT_FOR_READERS.contains(&file.path.as_str()) {
            problems.extend(unsaid(file));
        }
    }
    assert_tidy(problems);
}

#[test]
fn documents_speak_as_people_do() {
    let readme = File { path: "README.md".into(), text: include_str!("../../../README.md").into() };
    let mut problems = unsaid(&readme);
    for file in tree(&["docs"]) {
        if !FIXED.contains(&file.path.as_str()) {
            problems.extend(unsaid(&file));
        }
    }
    assert_tidy(problems);
}

#[test]
fn what_nobody_says_is_found_in_pages_and_sentences() {
    let unsaid =
        |path: &str, text: &str| unsaid(&File { path: path.to_owned(), text: text.to_owned() }).len();
    let page = |text: &str| unsaid("crates/web/templates/a.html", text);
    assert_eq!(page("<p>You are told of it.</p>"), 1);
    assert_eq!(page("<p title=\"Ask anew\">Whoever</p>"), 2);
    assert_eq!(
        page("<p id=\"told\" class=\"stands\">{{ told }}{# anew #}{% if told %}Yes{% endif %}</p>"),
        0
    );
    let code = |text: &str| unsaid("crates/web/src/a.rs", text);
    assert_eq!(code("let told = \"It stands here.\";"), 1);
    assert_eq!(code("let lines = \"A sentence of \\\n two lines, told.\";"), 1);
    assert_eq!(code("// \"It stands here.\"\nlet told = told(\"told\"); format!(\"{told}, {}\");"), 0);
    assert_eq!(code("let (sql, said) = (\"\\n select told.at from told\", \"Select it anew\");"), 1);
    assert_eq!(code("fn a() {}\n#[cfg(test)]\nmod tests { const A: &str = \"It stands here.\"; }"), 0);
    let commented = "/// Whoever asks.\nstruct A;";
    assert_eq!(code(commented), 0);
    assert_eq!(unsaid("crates/rookery/src/cli/a.rs", commented), 1);
    let document = "It stands here. `It stands`\n```\ntold\n```\n[anew](whoever.md)";
    assert_eq!(unsaid("docs/a.md", document), 2);
}

fn unsaid(file: &File) -> Vec<String> {
    let seen = match file.path.rsplit('.').next() {
        Some("html") => seen_of_page(&file.text),
        Some("rs") => seen_of_code(file),
        Some("md") => seen_of_document(&file.text),
        _ => return Vec::new(),
    };
    let words = seen.split(|letter: char| !letter.is_alphabetic());
    words
        .filter(|word| UNSAID.contains(&word.to_lowercase().as_str()))
        .map(|word| format!("{}: nobody says `{word}`", file.path))
        .collect()
}

/// What a reader sees of a template: its text, and the attributes that are shown or read aloud.
fn seen_of_page(text: &str) -> String {
    const SHOWN: [&str; 6] =
        [" title=\"", " aria-label=\"", " placeholder=\"", " alt=\"", " data-command=\"", " data-confirm=\""];
    let text = without(&without(&without(text, "{#", "#}"), "{{", "}}"), "{%", "%}");
    let mut seen = String::new();
    for piece in text.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        for attribute in SHOWN {
            if let Some(value) = tag.split(attribute).nth(1).and_then(|rest| rest.split('"').next()) {
                seen.push_str(value);
                seen.push(' ');
            }
        }
        seen.push_str(words);
        seen.push(' ');
    }
    seen
}

fn without(text: &str, opens: &str, closes: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(opens) {
        kept.push_str(before);
        rest = after.split_once(closes).map_or("", |(_, after)| after);
    }
    kept + rest
}

/// The string literals of code that are sentences, without what they fill in, and the comments that are shown. A file's
/// tests come last.
fn seen_of_code(file: &File) -> String {
    let text = file.text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let code = File { path: file.path.clone(), text: text.to_owned() };
    let literals = code.literals().into_iter().filter(|literal| literal.contains(' ') && !is_sql(literal));
    let mut seen: Vec<String> = literals.map(|literal| without(&literal, "{", "}")).collect();
    if SHOWN_COMMENTS.iter().any(|path| file.path.starts_with(path)) {
        let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix("///"));
        seen.extend(comments.map(str::to_owned));
    }
    seen.join(" ")
}

fn is_sql(literal: &str) -> bool {
    literal.split_whitespace().next().is_some_and(|first| SQL.contains(&first))
}

/// The text of Markdown, without code and addresses.
fn seen_of_document(text: &str) -> String {
    without(&without(&without(text, "```", "```"), "`", "`"), "](", ")")
}
