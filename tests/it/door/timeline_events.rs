//! Events of the timeline follow one list: what code writes, what docs/api.md tells, and nothing else.

use rookery_core::conversations::timeline::listed::{LISTED, problem};
use serde_json::json;

use crate::tidy::source::{File, tree};

/// The names that calls of `timeline::append` write, with where; constants as they are written.
fn written(files: &[File]) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for file in files {
        for call in file.text.split("timeline::append(").skip(1) {
            let call = call.split(".await").next().unwrap_or_default();
            let literal = call.split('"').nth(1).filter(|_| call.contains('"')).map(str::to_owned);
            let constant = || {
                let word =
                    |part: &str| part.chars().all(|c| c.is_ascii_uppercase() || c == '_') && part.len() > 2;
                let named = call.split([',', ' ', '\n', ')']).find(|part| word(part))?;
                let definition = format!("{named}: &str = \"");
                let found = files.iter().find_map(|file| file.text.split(&definition).nth(1))?;
                found.split('"').next().map(str::to_owned)
            };
            let name = literal.or_else(constant).unwrap_or_else(|| format!("nothing to read in {call}"));
            names.push((name, file.path.clone()));
        }
    }
    names
}

/// proves: CONV-19
#[test]
fn every_event_that_code_writes_is_in_the_one_list_and_in_the_docs() {
    let written = written(&tree(&["crates"]));
    assert!(written.len() > 20, "{written:?}");
    for (name, path) in &written {
        assert!(LISTED.iter().any(|listed| listed.name == name), "{path} writes {name}, which is not listed");
    }
    for listed in LISTED {
        assert!(written.iter().any(|(name, _)| name == listed.name), "nothing writes {}", listed.name);
        let camel = |key: &str| {
            key.starts_with(|c: char| c.is_ascii_lowercase())
                && key.chars().all(|c| c.is_ascii_alphanumeric())
        };
        assert!(listed.keys.iter().chain(listed.sometimes).all(|key| camel(key)), "{listed:?}");
    }
    let page = include_str!("../../../docs/api.md");
    let table = page.split("### Events of the timeline").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows: Vec<&str> = table.unwrap().lines().filter(|line| line.starts_with("| `")).collect();
    let wanted: Vec<String> = LISTED
        .iter()
        .map(|listed| {
            let keys = listed.keys.iter().map(|key| format!("`{key}`"));
            let keys: Vec<String> =
                keys.chain(listed.sometimes.iter().map(|key| format!("`{key}` (sometimes)"))).collect();
            let keys = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
            format!("| `{}` | {} | {keys} |", listed.name, listed.when)
        })
        .collect();
    assert_eq!(rows, wanted);
}

/// `append` refuses it while tests run, so every story of the product holds the list.
#[test]
fn an_event_that_is_not_as_listed_is_refused() {
    assert_eq!(problem("tags", &json!({ "added": [], "removed": [] })), None);
    assert_eq!(problem("draft-discarded", &json!({ "messageId": "x" })), None);
    assert_eq!(problem("draft-discarded", &json!({ "messageId": "x", "reason": "taken-over" })), None);
    for (event, data) in [
        ("tagged", json!({ "added": [], "removed": [] })),
        ("tags", json!({ "added": [] })),
        ("tags", json!({ "added": [], "removed": [], "by": "x" })),
        ("tags", json!([])),
        ("draft-discarded", json!({ "messageId": "x", "why": "y" })),
    ] {
        assert!(problem(event, &data).is_some(), "{event} {data}");
    }
}
