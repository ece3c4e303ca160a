//! Rules about the tree as a whole: no circle of imports between files, no folder with more files side by side than
//! one can take in, and no decision cited by a number that nobody can look up.

use std::collections::{BTreeMap, BTreeSet};

use super::source::File;

const MOST_FILES: usize = 20;

/// Files that import each other, straight or round about. A parent and its child count like any others.
pub fn circles(files: &[File]) -> Vec<String> {
    let files: Vec<&File> = files
        .iter()
        .filter(|file| file.is_rust() && !file.path.ends_with("/main.rs") && file.path.contains("/src/"))
        .collect();
    let by_module: BTreeMap<Vec<String>, usize> =
        files.iter().enumerate().map(|(at, file)| (file.module(), at)).collect();
    let imported = |at: usize| -> BTreeSet<usize> {
        let longest =
            |path: &[String]| (1..=path.len()).rev().find_map(|n| by_module.get(&path[..n]).copied());
        let targets = files[at].paths().into_iter().filter_map(|(path, _)| longest(&path));
        targets.filter(|target| *target != at).collect()
    };
    let imports: Vec<BTreeSet<usize>> = (0..files.len()).map(imported).collect();
    let reached: Vec<BTreeSet<usize>> = (0..files.len()).map(|at| reach(&imports, at)).collect();
    let mut problems = Vec::new();
    for (from, targets) in imports.iter().enumerate() {
        for to in targets.iter().filter(|to| reached[**to].contains(&from)) {
            problems
                .push(format!("{} imports {}, which leads back to it", files[from].path, files[*to].path));
        }
    }
    problems
}

fn reach(imports: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        open.extend(imports[at].iter().copied().filter(|target| reached.insert(*target)));
    }
    reached
}

pub fn crowds(files: &[File]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        *counts.entry(file.path.rsplit_once('/').map_or("", |(folder, _)| folder)).or_default() += 1;
    }
    let crowded = counts.into_iter().filter(|(_, count)| *count > MOST_FILES);
    crowded
        .map(|(folder, count)| format!("{folder}: {count} files side by side; it has a room inside"))
        .collect()
}

/// A number is a `D` and three digits, in code or in a comment.
pub fn decisions(page: &str, files: &[File]) -> Vec<String> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let written: BTreeSet<&str> = rows.filter(|word| is_number(word)).collect();
    let mut problems = Vec::new();
    let mut cited = BTreeSet::new();
    for file in files {
        for word in file.text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_number(word)) {
            if !written.contains(word) {
                problems.push(format!("{} cites {word}, which docs/decisions/by-number.md lacks", file.path));
            }
            cited.insert(word);
        }
    }
    let unused = written.difference(&cited);
    problems.extend(
        unused.map(|number| format!("docs/decisions/by-number.md explains {number}, which nothing cites")),
    );
    problems
}

fn is_number(word: &str) -> bool {
    word.strip_prefix('D')
        .is_some_and(|rest| rest.len() == 3 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
