//! Which test proves which requirement, read from the tests themselves: `proves: LIST-11, LIST-12` in a
//! test's doc comment. Refuses a proof of something that docs/requirements.md does not name, and one that
//! stands on anything but a test that runs. `just requirements` prints the list.

use std::collections::BTreeMap;
use std::fmt::Write;

use proc_macro2::{TokenStream, TokenTree};

use crate::tidy::source::{File, tree};

#[test]
fn every_proof_stands_on_a_test_and_names_a_requirement() {
    let list = requirements(LIST);
    let (proofs, mut problems) = read_proofs(&tree(&["crates", "tests"]));
    problems.extend(unknown(&proofs, &list));
    assert!(problems.is_empty(), "proofs that prove nothing:\n  {}", problems.join("\n  "));
}

#[test]
fn the_list_of_requirements_is_whole() {
    let list = requirements(LIST);
    assert_eq!(list.len(), 413);
    assert_eq!(areas(LIST).len(), 28);
    for (area, count) in areas(LIST) {
        let short = area.split(' ').next().unwrap_or_default();
        let ids: Vec<String> = list.iter().filter(|r| r.area() == short).map(|r| r.id.clone()).collect();
        let wanted: Vec<String> = (1..=count).map(|number| format!("{short}-{number}")).collect();
        assert_eq!(ids, wanted, "{area}");
    }
}

/// What `just requirements` shows.
#[test]
fn each_requirement_is_printed_with_its_tests() {
    let (proofs, _) = read_proofs(&tree(&["crates", "tests"]));
    let report = report(&requirements(LIST), &areas(LIST), &proofs);
    println!("{report}");
    assert!(report.lines().count() > 413);
}

const LIST: &str = include_str!("../../docs/requirements.md");

struct Requirement {
    id: String,
    sentence: String,
}

impl Requirement {
    fn area(&self) -> &str {
        self.id.split('-').next().unwrap_or_default()
    }
}

/// The lines `- **ID** (section; way of test) sentence`.
fn requirements(list: &str) -> Vec<Requirement> {
    let lines = list.lines().filter_map(|line| line.strip_prefix("- **")?.split_once("** "));
    lines.map(|(id, sentence)| Requirement { id: id.into(), sentence: sentence.into() }).collect()
}

/// The table of areas: `| GEN General frame | 14 |`.
fn areas(list: &str) -> Vec<(&str, usize)> {
    let rows = list.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.filter_map(|(area, count)| Some((area, count.parse().ok()?))).collect()
}

struct Proof {
    id: String,
    /// `tests/it/flows/inbound.rs: a_reply_joins_its_conversation`
    test: String,
}

fn read_proofs(files: &[File]) -> (Vec<Proof>, Vec<String>) {
    let (mut proofs, mut problems) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        if file.text.lines().any(|line| line.trim_start().starts_with("// proves:")) {
            problems.push(format!("{}: `proves:` in a plain comment; write `///`", file.path));
        }
        read_tokens(file.tokens(), &file.path, &mut proofs, &mut problems);
    }
    (proofs, problems)
}

/// Collects attributes (a doc comment is one) until the item they stand on begins.
fn read_tokens(tokens: TokenStream, path: &str, proofs: &mut Vec<Proof>, problems: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut above = Attributes::default();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' || mark.as_char() == '!' => {}
            TokenTree::Group(group) if is_attribute(&tokens[..at]) => above.add(group.stream()),
            TokenTree::Ident(word) if ["pub", "async", "unsafe", "const"].iter().any(|w| word == w) => {}
            TokenTree::Ident(word) if word == "fn" && above.is_test && !above.is_ignored => {
                let name = tokens.get(at + 1).map(ToString::to_string).unwrap_or_default();
                let test = format!("{path}: {name}");
                match proved_ids(&above.doc) {
                    Ok(ids) => proofs.extend(ids.into_iter().map(|id| Proof { id, test: test.clone() })),
                    Err(problem) => problems.push(format!("{test}: {problem}")),
                }
                above = Attributes::default();
            }
            other => {
                if above.doc.contains("proves:") {
                    let line = other.span().start().line;
                    problems
                        .push(format!("{path}:{line}: `proves:` on something that is not a running test"));
                }
                above = Attributes::default();
                if let TokenTree::Group(group) = other {
                    read_tokens(group.stream(), path, proofs, problems);
                }
            }
        }
    }
}

/// `#[…]` or `#![…]`: the bracket comes right after the mark.
fn is_attribute(before: &[TokenTree]) -> bool {
    matches!(before.last(), Some(TokenTree::Punct(mark)) if mark.as_char() == '#')
        || matches!(before, [.., TokenTree::Punct(a), TokenTree::Punct(b)] if a.as_char() == '#' && b.as_char() == '!')
}

#[derive(Default)]
struct Attributes {
    doc: String,
    is_test: bool,
    is_ignored: bool,
}

impl Attributes {
    fn add(&mut self, attribute: TokenStream) {
        let tokens: Vec<TokenTree> = attribute.into_iter().collect();
        if let [TokenTree::Ident(name), _, TokenTree::Literal(text)] = &tokens[..]
            && name == "doc"
            && let Ok(text) = syn::parse_str::<syn::LitStr>(&text.to_string())
        {
            // In backticks it is a mention, as in this file.
            self.doc.push_str(&text.value().replace("`proves:", ""));
            self.doc.push('\n');
        }
        // The last word of the path: `test`, `tokio::test`, `sqlx::test(…)`.
        let path = tokens.iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
        let last = path.filter(|token| matches!(token, TokenTree::Ident(_))).last();
        let last = last.map(ToString::to_string).unwrap_or_default();
        self.is_test |= last == "test";
        self.is_ignored |= last == "ignore";
    }
}

/// The ids after each `proves:`, separated by commas. A list may go on in the next line after a comma.
fn proved_ids(doc: &str) -> Result<Vec<String>, String> {
    let mut ids = Vec::new();
    for list in doc.split("proves:").skip(1) {
        for part in list.split(',') {
            let part = part.trim_start();
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(part.len());
            let (id, rest) = part.split_at(end);
            let Some((area, number)) = id.split_once('-') else {
                return Err(format!("`proves:` is followed by {id:?}, which is no id"));
            };
            if area.is_empty() || number.parse::<u32>().is_err() {
                return Err(format!("`proves:` is followed by {id:?}, which is no id"));
            }
            if rest.starts_with("..") {
                return Err(format!("a range after {id}: name each requirement"));
            }
            ids.push(id.to_string());
            if !rest.is_empty() {
                // Words after the last id end the list; more ids after them need a `proves:` of their own.
                break;
            }
        }
    }
    Ok(ids)
}

fn unknown(proofs: &[Proof], list: &[Requirement]) -> Vec<String> {
    let unknown = proofs.iter().filter(|proof| !list.iter().any(|known| known.id == proof.id));
    unknown.map(|proof| format!("{}: there is no {}", proof.test, proof.id)).collect()
}

fn report(list: &[Requirement], areas: &[(&str, usize)], proofs: &[Proof]) -> String {
    let mut tests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for proof in proofs {
        tests.entry(&proof.id).or_default().push(&proof.test);
    }
    let mut text = String::new();
    for requirement in list {
        let _ = writeln!(text, "{} {}", requirement.id, requirement.sentence);
        match tests.get(requirement.id.as_str()) {
            Some(tests) => tests.iter().for_each(|test| {
                let _ = writeln!(text, "    {test}");
            }),
            None => text.push_str("    none yet\n"),
        }
    }
    let is_proved = |requirement: &&Requirement| tests.contains_key(requirement.id.as_str());
    let _ = writeln!(text, "\n{:<40} proved   of", "Area");
    for (area, count) in areas {
        let short = area.split(' ').next().unwrap_or_default();
        let proved = list.iter().filter(|r| r.area() == short).filter(is_proved).count();
        let _ = writeln!(text, "{area:<40} {proved:>6} {count:>4}");
    }
    let proved = list.iter().filter(is_proved).count();
    let _ = writeln!(text, "{:<40} {proved:>6} {:>4}", "All", list.len());
    text
}

// What is refused.

fn proofs_in(text: &str) -> (Vec<String>, Vec<String>) {
    let file = File { path: "tests/it/a.rs".into(), text: text.into() };
    let (proofs, problems) = read_proofs(&[file]);
    (proofs.iter().map(|proof| format!("{} {}", proof.id, proof.test)).collect(), problems)
}

#[test]
fn proofs_are_read_from_doc_comments_of_tests() {
    let (proofs, problems) = proofs_in(
        "//! A file.\n/// Says why.\n/// proves: GEN-1,\n/// GEN-2 and more words, GEN-9\n#[tokio::test]\nasync fn a() {}\n\
         mod inner { proptest! { #[test] #[should_panic] /** proves: ME-1. */ fn b() {} } }",
    );
    assert_eq!(proofs, ["GEN-1 tests/it/a.rs: a", "GEN-2 tests/it/a.rs: a", "ME-1 tests/it/a.rs: b"]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn a_proof_on_something_that_is_not_a_test_is_refused() {
    for text in [
        "/// proves: GEN-1\nfn a() {}",
        "/// proves: GEN-1\nstruct A;",
        "//! proves: GEN-1\nfn a() {}",
        "/// proves: GEN-1\n#[test]\n#[ignore = \"slow\"]\nfn a() {}",
        "// proves: GEN-1\n#[test]\nfn a() {}",
        "/// proves: GEN1\n#[test]\nfn a() {}",
        "/// proves: GEN-1, GEN-2..GEN-3\n#[test]\nfn a() {}",
        "/// proves: GEN-1,\n#[test]\nfn a() {}",
    ] {
        assert_eq!(proofs_in(text).1.len(), 1, "{text}");
    }
}

#[test]
fn a_proof_of_an_unknown_requirement_is_refused() {
    let known = requirements("- **GEN-1** (§1; B) Something.");
    let proof = |id: &str| Proof { id: id.into(), test: "a.rs: a".into() };
    assert_eq!(unknown(&[proof("GEN-1"), proof("GEN-2")], &known), ["a.rs: a: there is no GEN-2"]);
}

#[test]
fn the_report_names_tests_and_gaps() {
    let list = requirements("- **GEN-1** (§1; B) One.\n- **GEN-2** (§1; B) Two.");
    let proofs = [Proof { id: "GEN-2".into(), test: "a.rs: a".into() }];
    let report = report(&list, &[("GEN General frame", 2)], &proofs);
    assert!(
        report.starts_with("GEN-1 (§1; B) One.\n    none yet\nGEN-2 (§1; B) Two.\n    a.rs: a\n"),
        "{report}"
    );
    assert!(report.contains("     1    2"), "{report}");
}
