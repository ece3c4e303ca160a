//! Words that nobody says to a reader: they are how a translation sounds (`told of`, `anew`, `whoever`). They are in no
//! page, toast or sentence that people see in the app. Comments and names may have them.

use super::assert_tidy;
use super::source::{File, tree};

const UNSAID: &[&str] = &["mend", "mends", "mended", "anew", "stand", "stands", "told", "whoever"];

#[test]
fn pages_speak_as_people_do() {
    let mut problems = Vec::new();
    for file in tree(&["crates/web", "crates/site"]) {
        problems.extend(unsaid(&file));
    }
    assert_tidy(problems);
}

#[test]
fn what_nobody_says_is_found_in_pages_and_sentences() {
    let page =
        |text: &str| unsaid(&File { path: "crates/web/templates/a.html".into(), text: text.into() }).len();
    assert_eq!(page("<p>You are told of it.</p>"), 1);
    assert_eq!(page("<p title=\"Ask anew\">Whoever</p>"), 2);
    assert_eq!(
        page("<p id=\"told\" class=\"stands\">{{ told }}{# anew #}{% if told %}Yes{% endif %}</p>"),
        0
    );
    let code = |text: &str| unsaid(&File { path: "crates/web/src/a.rs".into(), text: text.into() }).len();
    assert_eq!(code("let told = \"It stands here.\";"), 1);
    assert_eq!(code("// \"It stands here.\"\nlet told = told(\"told\"); format!(\"{told}, {}\");"), 0);
}

fn unsaid(file: &File) -> Vec<String> {
    let seen = match file.path.rsplit('.').next() {
        Some("html") => seen_of_page(&file.text),
        Some("rs") => sentences(file.text.split("#[cfg(test)]").next().unwrap_or_default()),
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

/// The string literals of code that are sentences, without what they fill in.
fn sentences(code: &str) -> String {
    let mut seen = String::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for literal in line.split('"').skip(1).step_by(2).filter(|literal| literal.contains(' ')) {
            seen.push_str(&without(literal, "{", "}"));
            seen.push(' ');
        }
    }
    seen
}
