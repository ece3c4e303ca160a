//! Lines of the log are JSON objects with the event's fields beside `message`, `level`, `target` and `timestamp`: a field of one
//! of those names would stand in the line twice, and readers keep either.

use proc_macro2::{TokenStream, TokenTree};

use super::source::File;

const TAKEN: [&str; 4] = ["message", "level", "target", "timestamp"];
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

pub fn twice_named_fields(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for fields in calls(file.tokens()) {
            for field in names(&fields) {
                if TAKEN.contains(&field.as_str()) {
                    problems.push(format!("{}: a line of the log would have `{field}` twice", file.path));
                }
            }
        }
    }
    problems
}

/// What is handed to `tracing::info!(…)` and the like, wherever they are called.
fn calls(tokens: TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let before: String = tokens[at.saturating_sub(5)..at].iter().map(ToString::to_string).collect();
        if LEVELS.iter().any(|level| before.ends_with(&format!("tracing::{level}!"))) {
            found.push(group.stream());
        } else {
            found.extend(calls(group.stream()));
        }
    }
    found
}

/// The name of each field: before its `=`, or the variable itself, behind `%` or `?`.
fn names(fields: &TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut starts = true;
    for token in fields.clone() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => starts = true,
            TokenTree::Punct(punct) if starts && "%?".contains(punct.as_char()) => {}
            TokenTree::Ident(name) if starts => {
                names.push(name.to_string());
                starts = false;
            }
            _ => starts = false,
        }
    }
    names
}
