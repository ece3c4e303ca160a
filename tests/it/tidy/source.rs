//! What the rules look at: files of the tree, the paths and literals in Rust code (as tokens, so that
//! macros are seen too), the tables in SQL.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

pub struct File {
    /// From the root of the repository, with `/`.
    pub path: String,
    pub text: String,
}

/// Crates of one room: their room has the name of the crate. Other crates have several, each a folder of its `src/`.
const OF_ONE_ROOM: &[&str] =
    &["reading", "assistants", "webhooks", "http", "api", "web", "site", "assets-build"];

/// Every file below these folders of the repository, sorted by path.
pub fn tree(folders: &[&str]) -> Vec<File> {
    let root = &rookery_world::root();
    let mut files = Vec::new();
    let mut open: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = open.pop() {
        // A folder may not exist yet.
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("read a folder").path();
            // What is linked in was installed and is not ours.
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let path = path.strip_prefix(root).expect("below the root");
                let path = path.to_str().expect("a readable name").replace('\\', "/");
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

impl File {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// `mail` for crates/mail/src/incoming/receive.rs.
    pub fn crate_name(&self) -> &str {
        self.path.strip_prefix("crates/").and_then(|path| path.split('/').next()).unwrap_or_default()
    }

    /// `incoming` for crates/mail/src/incoming/receive.rs, `clock` for crates/base/src/clock.rs, `web` for all of crates/web.
    pub fn room(&self) -> String {
        self.module().into_iter().next().unwrap_or_default()
    }

    /// From the room on: `["incoming", "receive"]` for crates/mail/src/incoming/receive.rs.
    pub fn module(&self) -> Vec<String> {
        let parts = self.path.trim_end_matches(".rs").split('/').skip(3);
        let roots = ["lib", "main", "mod"];
        let parts = parts.filter(|part| !roots.contains(part)).map(String::from);
        root(self.crate_name()).into_iter().chain(parts).collect()
    }

    /// The room of a path that leads to another crate: `rookery_core::events::record` leads to `["events", "record"]`.
    fn begins(&self, word: &str) -> Option<Vec<String>> {
        let name = if word == "crate" { self.crate_name() } else { word.strip_prefix("rookery_")? };
        Some(root(name))
    }

    /// Every path in the file that leads somewhere in the tree, from the room on, with the line.
    pub fn paths(&self) -> Vec<(Vec<String>, usize)> {
        let tokens = self.tokens();
        let children = child_modules(&tokens);
        self.paths_in(&tokens, &self.module(), &children)
    }

    /// What `crate::`, `rookery_…::`, `self::`, any `super::` and the names of child modules lead to, in imports, expressions, types and
    /// macros. Braces give one path for each branch.
    fn paths_in(
        &self,
        tokens: &TokenStream,
        module: &[String],
        children: &[String],
    ) -> Vec<(Vec<String>, usize)> {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if let Some((name, body)) = module_at(&tokens[at..]) {
                let mut inner = module.to_vec();
                inner.push(name);
                found.extend(self.paths_in(&body, &inner, &[]));
                at += 3;
                continue;
            }
            if let TokenTree::Group(group) = &tokens[at] {
                found.extend(self.paths_in(&group.stream(), module, children));
            }
            let starts = at < 2 || !is_path_separator(&tokens[at - 2..]);
            let mut before = module.to_vec();
            let mut reached = at;
            while is_word(tokens.get(reached), "super") && is_path_separator(&tokens[reached + 1..]) {
                before.pop();
                reached += 3;
            }
            let is_path = |word: &str| is_word(tokens.get(at), word) && is_path_separator(&tokens[at + 1..]);
            let begun = word_at(&tokens[at..]).filter(|_| starts && is_path_separator(&tokens[at + 1..]));
            if let Some(room) = begun.and_then(|word| self.begins(&word)) {
                before = room;
                reached = at + 3;
            } else if is_path("self") {
                reached = at + 3;
            }
            if reached > at {
                names(&tokens[reached..], &before, &mut found);
                // Stay on a braced group: it may hold more paths.
                at = reached;
            } else {
                if starts && children.iter().any(|child| is_path(child)) {
                    names(&tokens[at..], module, &mut found);
                }
                at += 1;
            }
        }
        found
    }

    /// Modules with their body in the file: `mod name { … }`.
    pub fn inline_modules(&self) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        inline_modules(self.tokens(), &mut found);
        found
    }

    /// The lines where `a::b` stands in the code, in calls as well as in imports.
    pub fn lines_with(&self, path: &[&str; 2]) -> Vec<usize> {
        lines_with(self.tokens(), path)
    }

    pub fn tokens(&self) -> TokenStream {
        TokenStream::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }

    /// What may be SQL: whole files of it, and the string literals of each bracket in Rust code as one text.
    pub fn sql(&self) -> Vec<String> {
        if self.path.ends_with(".sql") {
            vec![self.text.clone()]
        } else if self.is_rust() {
            let mut brackets = Vec::new();
            string_literals(self.tokens(), &mut brackets);
            brackets.iter().map(|literals| literals.join(" ")).collect()
        } else {
            Vec::new()
        }
    }

    /// Every string literal of the code, each by itself.
    pub fn literals(&self) -> Vec<String> {
        let mut brackets = Vec::new();
        string_literals(self.tokens(), &mut brackets);
        brackets.concat()
    }
}

/// The path of a crate's root: its room, or nothing when its rooms stand below.
fn root(crate_name: &str) -> Vec<String> {
    OF_ONE_ROOM.iter().filter(|name| **name == crate_name).map(|name| (*name).to_owned()).collect()
}

// ---- reading Rust ----

/// The path that begins here, or each of those in braces.
fn names(tokens: &[TokenTree], before: &[String], found: &mut Vec<(Vec<String>, usize)>) {
    match tokens.first() {
        Some(TokenTree::Ident(name)) => {
            let is_macro = matches!(tokens.get(1), Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
            let mut path = before.to_vec();
            if name != "self" {
                path.push(name.to_string());
            }
            if is_path_separator(&tokens[1..]) {
                names(&tokens[3..], &path, found);
            } else if !is_macro {
                found.push((path, name.span().start().line));
            }
        }
        Some(TokenTree::Punct(mark)) if mark.as_char() == '*' => {
            found.push(([before, &["*".into()]].concat(), mark.span().start().line));
        }
        // `Vec::<u8>` ends the path at what stands before it.
        Some(TokenTree::Punct(mark)) => found.push((before.to_vec(), mark.span().start().line)),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            for branch in inside.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ',')) {
                names(branch, before, found);
            }
        }
        _ => {}
    }
}

/// Modules with a file of their own: `mod name;`.
fn child_modules(tokens: &TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let child = |window: &[TokenTree]| match window {
        [word, TokenTree::Ident(name), TokenTree::Punct(end)]
            if is_word(Some(word), "mod") && end.as_char() == ';' =>
        {
            Some(name.to_string())
        }
        _ => None,
    };
    tokens.windows(3).filter_map(child).collect()
}

/// `mod name { … }` at the start of these tokens.
fn module_at(tokens: &[TokenTree]) -> Option<(String, TokenStream)> {
    match tokens {
        [word, TokenTree::Ident(name), TokenTree::Group(body), ..]
            if is_word(Some(word), "mod") && body.delimiter() == Delimiter::Brace =>
        {
            Some((name.to_string(), body.stream()))
        }
        _ => None,
    }
}

fn inline_modules(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for at in 0..tokens.len() {
        if let Some((name, body)) = module_at(&tokens[at..]) {
            found.push((name, tokens[at].span().start().line));
            inline_modules(body, found);
        }
    }
}

fn lines_with(tokens: TokenStream, path: &[&str; 2]) -> Vec<usize> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut lines = Vec::new();
    for at in 0..tokens.len() {
        if let TokenTree::Group(group) = &tokens[at] {
            lines.extend(lines_with(group.stream(), path));
        }
        if is_word(tokens.get(at), path[0]) && is_path_separator(&tokens[at + 1..]) {
            let mut after = Vec::new();
            names(&tokens[at + 3..], &[], &mut after);
            let hits = after.into_iter().filter(|(after, _)| after[0] == path[1]);
            lines.extend(hits.map(|(_, line)| line));
        }
    }
    lines
}

/// String literals, by the bracket that has them: the pieces of `query!("insert into " + "notes …")` belong together.
fn string_literals(tokens: TokenStream, brackets: &mut Vec<Vec<String>>) {
    let mut literals = Vec::new();
    let mut after_doc = false;
    for token in tokens {
        match &token {
            TokenTree::Group(group) => string_literals(group.stream(), brackets),
            TokenTree::Literal(literal) if !after_doc => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    literals.push(text.value());
                }
            }
            _ => {}
        }
        // A doc comment arrives as `doc = "…"`.
        after_doc = is_word(Some(&token), "doc") || (after_doc && matches!(token, TokenTree::Punct(_)));
    }
    brackets.push(literals);
}

fn word_at(tokens: &[TokenTree]) -> Option<String> {
    match tokens.first() {
        Some(TokenTree::Ident(word)) => Some(word.to_string()),
        _ => None,
    }
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(name)) if name == word)
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(a), TokenTree::Punct(b), ..] if a.as_char() == ':' && b.as_char() == ':')
}

// ---- reading SQL ----

/// The words of a statement in lower case, without comments and quotes; a schema stays with its table.
fn sql_words(sql: &str) -> Vec<String> {
    let code: Vec<&str> = sql.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let keep = |c: char| c.is_alphanumeric() || "_.{}".contains(c);
    let text = code.join("\n").to_lowercase().replace('"', "");
    let words = text.split(|c: char| !keep(c)).filter(|word| !word.is_empty());
    words.map(|word| word.trim_start_matches("public.").to_string()).collect()
}

/// The tables a statement inserts into, updates, deletes from, copies into, merges into or empties.
pub fn writes(sql: &str) -> Vec<String> {
    let words = sql_words(sql);
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "only").collect();
    let mut tables = Vec::new();
    for at in 0..words.len() {
        match &words[at..] {
            ["insert" | "merge", "into", table, ..]
            | ["delete", "from", table, ..]
            | ["truncate", "table", table, ..]
            | ["truncate" | "copy", table, ..]
            | ["update", table, "set", ..]
            | ["update", table, _, "set", ..]
            | ["update", table, "as", _, "set", ..] => tables.push(table.to_string()),
            _ => {}
        }
    }
    tables
}

/// The tables that stand when all migrations are applied; parts of a partitioned table belong to it.
pub fn tables_of(migrations: &[File]) -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    for file in migrations {
        let words = sql_words(&file.text);
        let small = ["if", "not", "exists", "only"];
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !small.contains(word)).collect();
        for at in 0..words.len() {
            match &words[at..] {
                ["create", "table", _, "partition", "of", ..] => {}
                ["create", "table", table, ..] | ["create", "unlogged", "table", table, ..] => {
                    tables.insert(table.to_string());
                }
                ["drop", "table", table, ..] => {
                    tables.remove(*table);
                }
                ["alter", "table", table, "rename", "to", name, ..] => {
                    tables.remove(*table);
                    tables.insert(name.to_string());
                }
                _ => {}
            }
        }
    }
    tables
}
