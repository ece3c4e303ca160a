//! What a paper says: the sections of `papers.txt`, each under the names of the files that it is for, with who sends it and
//! the days filled in. The last section is for every other name.

use chrono::{DateTime, Days, Months, Utc};

use crate::demo::files::pdf::PaperLine;

const PAPERS: &str = include_str!("papers.txt");
/// Days in which an invoice is to be paid.
const TERM: Days = Days::new(14);

/// Who sends a file, and when: it says both.
#[derive(Clone, Copy, Debug)]
pub struct FileSender<'a> {
    pub name: &'a str,
    pub at: DateTime<Utc>,
}

/// The lines of the first section one of whose words is in the title.
pub fn written(title: &str, from: FileSender<'_>) -> Vec<PaperLine> {
    let mut sections = PAPERS.split("\n== ").filter_map(|part| part.split_once('\n'));
    let own = |head: &str| head.split(' ').any(|word| word == "*" || title.contains(word));
    let section = sections.find(|&(head, _)| own(head)).map_or("", |(_, lines)| lines);
    section.trim().lines().map(|line| read(&filled(line, title, from))).collect()
}

fn read(line: &str) -> PaperLine {
    match line {
        "" => PaperLine::Space,
        "---" => PaperLine::Rule,
        _ => match (line.strip_prefix("# "), line.split_once(" | ")) {
            (Some(heading), _) => PaperLine::Heading(heading.to_owned()),
            (None, Some((label, value))) => PaperLine::Pair(label.to_owned(), value.to_owned()),
            (None, None) => PaperLine::Text(line.to_owned()),
        },
    }
}

fn filled(line: &str, title: &str, from: FileSender<'_>) -> String {
    let day = |at: DateTime<Utc>| at.format("%-d %B %Y").to_string();
    let last_month = from.at.checked_sub_months(Months::new(1)).unwrap_or(from.at);
    let due = from.at.checked_add_days(TERM).unwrap_or(from.at);
    line.replace("{name}", from.name)
        .replace("{title}", &capitalized(&title.replace('-', " ")))
        .replace("{n}", &number(title, from.name))
        .replace("{date}", &day(from.at))
        .replace("{due}", &day(due))
        .replace("{month}", &last_month.format("%B %Y").to_string())
        .replace("{year}", &from.at.format("%Y").to_string())
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The number that is in the file's name, or one that this sender's file always has.
fn number(title: &str, name: &str) -> String {
    let own: String = title.chars().filter(char::is_ascii_digit).collect();
    if own.len() >= 3 {
        return own;
    }
    let sum = format!("{title} {name}")
        .bytes()
        .fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    (100_000 + sum % 900_000).to_string()
}
