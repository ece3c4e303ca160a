//! Rules about names that a newcomer looks for: no more than three public types share one, whatever folder they stand in, and no
//! function has a name that says nothing without its module.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};

use super::source::File;

const MOST_OF_A_NAME: usize = 3;
const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];
const RIDDLES: [&str; 3] = ["of", "look", "told"];

/// `keyword name`, wherever it stands in a file.
struct Declaration {
    keyword: String,
    name: String,
    /// To somebody: `pub`, `pub(crate)` and the like.
    is_public: bool,
    is_for_tests: bool,
    line: usize,
}

/// Names that too many public types have. Types of tests do not count, nor do those that an `impl` gives to a trait.
pub fn crowded_types(files: &[File]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let counts = |declared: &Declaration| {
            declared.is_public && !declared.is_for_tests && TYPES.contains(&declared.keyword.as_str())
        };
        for declared in declarations(file).into_iter().filter(counts) {
            places.entry(declared.name).or_default().push(format!("{}:{}", file.path, declared.line));
        }
    }
    let crowded = places.into_iter().filter(|(_, places)| places.len() > MOST_OF_A_NAME);
    crowded
        .map(|(name, places)| {
            format!("{} public types are called {name}; say of what: {}", places.len(), places.join(", "))
        })
        .collect()
}

/// Functions and methods that one can neither search for nor understand where they are called.
pub fn riddles(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let is_riddle =
            |declared: &Declaration| declared.keyword == "fn" && RIDDLES.contains(&declared.name.as_str());
        for Declaration { name, line, .. } in declarations(file).into_iter().filter(is_riddle) {
            problems.push(format!("{}:{line}: fn {name}; take a verb with one meaning", file.path));
        }
    }
    problems
}

fn declarations(file: &File) -> Vec<Declaration> {
    let is_for_tests = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
    let mut found = Vec::new();
    declared_in(file.tokens(), is_for_tests, &mut found);
    found
}

fn declared_in(tokens: TokenStream, is_for_tests: bool, found: &mut Vec<Declaration>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let (before, next) = (&tokens[..at], tokens.get(at + 1));
        if let TokenTree::Group(group) = token {
            declared_in(group.stream(), is_for_tests || ends_with(before, ["mod", "tests"]), found);
        } else if let (TokenTree::Ident(keyword), Some(TokenTree::Ident(name))) = (token, next)
            && (keyword == "fn" || TYPES.iter().any(|word| keyword == word))
        {
            found.push(Declaration {
                keyword: keyword.to_string(),
                name: name.to_string(),
                is_public: is_public(before),
                is_for_tests,
                line: name.span().start().line,
            });
        }
    }
}

/// Whether `pub` stands at the end, with or without the bracket that says to whom.
fn is_public(before: &[TokenTree]) -> bool {
    let before = match before {
        [rest @ .., TokenTree::Ident(word)] if word == "unsafe" => rest,
        all => all,
    };
    match before {
        [rest @ .., TokenTree::Group(_)] => ends_with(rest, ["pub"]),
        all => ends_with(all, ["pub"]),
    }
}

fn ends_with<const N: usize>(tokens: &[TokenTree], words: [&str; N]) -> bool {
    let last = tokens.last_chunk::<N>();
    last.is_some_and(|last| {
        last.iter().zip(words).all(|(token, word)| matches!(token, TokenTree::Ident(name) if name == word))
    })
}
