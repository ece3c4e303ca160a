//! No dead style: every class of a style sheet is named by a template, by a script or by a page's code. A class that is
//! put together (`icon--{size}`) counts when both of its parts are named.

use std::collections::{BTreeMap, BTreeSet};

use super::assert_tidy;
use super::source::{File, tree};

/// Classes that no page has yet: parts of the settings pages and of document requests that are being made. An entry
/// goes when a page has it, or with its rule.
const COMING: &[&str] = &[
    "agent-text",
    "ask__foot",
    "ask__head",
    "ask__n",
    "ask__state",
    "bad-text",
    "break",
    "card--pad",
    "cards",
    "choice-why",
    "crumb",
    "factors",
    "fold-list",
    "form-foot",
    "input--mono",
    "is-bad",
    "is-in",
    "lock-line",
    "mono",
    "nowrap",
    "num",
    "save-line",
    "spread",
    "strong",
    "sub",
    "w-full",
    "w-mid",
    "w-short",
    "warn-text",
];

#[test]
fn every_class_of_the_style_sheets_is_on_some_page() {
    let named = tree(&["crates/web/templates", "crates/web/static/js", "crates/web/src", "crates/site"]);
    assert_tidy(unnamed(&tree(&["crates/web/static/css"]), &named, COMING));
}

#[test]
fn a_class_that_nothing_names_is_refused() {
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let sheet =
        "/* .gone */ @media (width < 5rem) { .list > .item:not(.is-open) .icon--xs, .dead { inset: .5rem } }";
    let sheets = [file("static/css/list.css", sheet)];
    let page = file("templates/list.html", "<ul class=\"list\"><li class=\"item is-open\">");
    let code = file("src/web/show.rs", "format!(\"icon icon--{size}\"); \"xs\"");
    let problems = unnamed(&sheets, &[page, code], &[]);
    assert_eq!(problems, ["static/css/list.css: no page has the class dead"]);
    assert!(unnamed(&sheets, &[file("a", "list item is-open icon--xs dead")], &[]).is_empty());
    let all = file("a", "list item is-open icon--xs");
    assert!(unnamed(&sheets, &[all], &["dead"]).is_empty());
    let stale = unnamed(&sheets, &[file("a", "list item is-open icon--xs dead")], &["older"]);
    assert_eq!(stale, ["COMING: older is in no style sheet"]);
}

fn unnamed(sheets: &[File], pages: &[File], coming: &[&str]) -> Vec<String> {
    let mut words = BTreeSet::new();
    let mut begun = BTreeSet::new();
    for page in pages {
        let mut rest = page.text.as_str();
        while let Some(start) = rest.find(is_of_name) {
            rest = &rest[start..];
            let end = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            words.insert(word);
            if word.ends_with("--") && after.starts_with('{') {
                begun.insert(word);
            }
            rest = after;
        }
    }
    let put_together = |class: &str| {
        let parts = class.split_once("--").map(|(start, end)| (format!("{start}--"), end));
        parts.is_some_and(|(start, end)| begun.contains(start.as_str()) && words.contains(end))
    };
    let mut problems = Vec::new();
    let mut styled: BTreeMap<String, &str> = BTreeMap::new();
    for sheet in sheets {
        for class in classes(&sheet.text) {
            styled.entry(class).or_insert(&sheet.path);
        }
    }
    for (class, path) in &styled {
        if !words.contains(class.as_str()) && !put_together(class) && !coming.contains(&class.as_str()) {
            problems.push(format!("{path}: no page has the class {class}"));
        }
    }
    let stale = coming.iter().filter(|class| !styled.contains_key(**class));
    problems.extend(stale.map(|class| format!("COMING: {class} is in no style sheet")));
    problems
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-' || letter == '_'
}

/// The classes that selectors name: what stands before a brace, comments aside.
fn classes(sheet: &str) -> BTreeSet<String> {
    let parts = sheet.split("/*").enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once("*/").map_or("", |(_, after)| after),
    });
    let plain: String = parts.collect();
    let mut found = BTreeSet::new();
    let mut selectors: Vec<&str> = plain.split('{').collect();
    selectors.pop();
    for selector in selectors {
        let selector = selector.rsplit(['}', ';']).next().unwrap_or_default();
        for name in selector.split('.').skip(1) {
            let end = name.find(|letter| !is_of_name(letter)).unwrap_or(name.len());
            if name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                found.insert(name[..end].to_owned());
            }
        }
    }
    found
}
