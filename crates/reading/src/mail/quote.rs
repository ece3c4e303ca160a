//! Removes quoted history from a mail and keeps what the customer wrote. In doubt everything is kept: a long
//! message is better than a lost sentence. One pass, linear in the text. `opening.rs` recognizes the lines with
//! which mail programs begin a quote. Specification 2.4.

mod evidence;
mod line;
mod opening;
mod phrases;

use std::ops::Range;

use line::{bare, is_quoted, says};
use opening::{MAX_OPENING_LINES, Trust, find_opening, is_ruler};
use phrases::{ANSWERS, COLOURS, DEVICE_LINES, PLACES};

use super::parse::ParsedMail;

/// Non-blank lines that are searched for history. Nobody writes more above it.
const MAX_LINES: usize = 20_000;

/// The text of a mail without quoted history.
pub fn own_words(mail: &ParsedMail) -> String {
    let is_answer = !mail.references.is_empty() || mail.subject.as_deref().is_some_and(has_prefix);
    keep_own(&mail.text, is_answer)
}

/// The text of a reply without quoted history.
pub fn without_history(text: &str) -> String {
    keep_own(text, true)
}

fn keep_own(text: &str, is_answer: bool) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let page = QuoteLines::new(&lines, is_answer);
    let Some(history) = page.history() else {
        return text.to_owned();
    };
    let above = without_blank_ends(&lines[..page.above_rulers(history.start)]);
    let below = without_blank_ends(&lines[history.end..]);
    if says_nothing(above) && says_nothing(below) {
        return text.to_owned();
    }
    let gap: &[&str] = if above.is_empty() || below.is_empty() { &[] } else { &[""] };
    [above, gap, below].concat().join("\n")
}

struct QuoteLines<'t> {
    lines: &'t [&'t str],
    is_answer: bool,
    /// The first line from here on that is not blank; the number of lines if there is none.
    next_words: Vec<usize>,
    /// The first line from here on that is neither blank nor quoted.
    next_unquoted: Vec<usize>,
    last_quoted: usize,
}

impl<'t> QuoteLines<'t> {
    fn new(lines: &'t [&'t str], is_answer: bool) -> QuoteLines<'t> {
        let mut next_words = vec![lines.len(); lines.len() + 1];
        let mut next_unquoted = vec![lines.len(); lines.len() + 1];
        for (at, line) in lines.iter().enumerate().rev() {
            let blank = bare(line).is_empty();
            next_words[at] = if blank { next_words[at + 1] } else { at };
            next_unquoted[at] = if blank || is_quoted(line) { next_unquoted[at + 1] } else { at };
        }
        let last_quoted = lines.iter().rposition(|line| is_quoted(line)).unwrap_or(0);
        QuoteLines { lines, is_answer, next_words, next_unquoted, last_quoted }
    }

    fn history(&self) -> Option<Range<usize>> {
        let all = self.lines.len();
        let mut at = self.next_words[0];
        // A quote was opened, and the customer replies between its lines.
        let mut is_answered = false;
        // The customer writes inside unmarked history or about it, so its end is unknown and it is kept.
        let mut is_meant = false;
        for _ in 0..MAX_LINES {
            let line = self.lines.get(at)?;
            let own = &self.lines[..at];
            let opening = if is_quoted(line) { None } else { find_opening(self.window(at)) };
            let end = at + opening.as_ref().map_or(0, |opening| opening.lines);
            if self.lines.get(self.next_words[end]).is_some_and(|line| is_quoted(line)) {
                if opening.is_some() || is_answered || self.is_history_quoted(at) {
                    if let Some(history) = self.marked(at, end) {
                        let is_hidden = history.end == all && !is_answered;
                        let is_meant = is_hidden && pointer(own) == Some(Pointer::Answers);
                        return (!is_meant).then_some(history);
                    }
                    is_answered = true;
                }
                at = self.next_unquoted[end];
                continue;
            }
            if opening.is_some_and(|opening| self.trusts(opening.trust)) {
                is_meant = is_meant || self.is_introduced(at) || pointer(own).is_some();
                if !is_meant {
                    return Some(at..all);
                }
            }
            at = self.next_words[end.max(at + 1)];
        }
        None
    }

    fn trusts(&self, trust: Trust) -> bool {
        trust == Trust::Full || (trust == Trust::InAnswers && self.is_answer)
    }

    fn window(&self, at: usize) -> &[&'t str] {
        &self.lines[at..self.lines.len().min(at + MAX_OPENING_LINES)]
    }

    /// History whose lines are marked with `>`. Text below it is a reply. A reply below the whole quote can stand
    /// alone; replies between the quoted lines need those lines.
    fn marked(&self, start: usize, quoted_from: usize) -> Option<Range<usize>> {
        let end = self.next_unquoted[quoted_from];
        if end == self.lines.len() {
            return Some(start..end);
        }
        let is_one_piece = self.last_quoted < end;
        // There is at most one line above, such as a greeting.
        let is_above_all = self.next_words[self.next_words[0] + 1] >= start && !self.is_introduced(start);
        let is_above_signature = self.lines[end].trim_end() == "--";
        (is_one_piece && (is_above_all || is_above_signature)).then_some(start..end)
    }

    /// Whether quoted lines without an opening are history: people begin lines with `>` too.
    fn is_history_quoted(&self, at: usize) -> bool {
        let unquoted: Vec<&str> = self
            .window(at)
            .iter()
            .take_while(|line| is_quoted(line))
            .map(|line| line.trim_start_matches(['>', ' ']))
            .skip_while(|line| line.is_empty())
            .collect();
        let is_tail = self.next_unquoted[at] == self.lines.len();
        let stands_apart = at == 0 || bare(self.lines[at - 1]).is_empty();
        find_opening(&unquoted).is_some()
            || (self.is_answer && is_tail && stands_apart && !self.is_introduced(at))
    }

    /// A line such as "I got this mail:" means that the customer refers to what follows.
    fn is_introduced(&self, at: usize) -> bool {
        let above = self.lines[..at].iter().rev().map(|line| bare(line)).find(|line| !line.is_empty());
        above.is_some_and(|line| line.ends_with([':', '：']))
    }

    /// A ruler above an opening belongs to the history.
    fn above_rulers(&self, start: usize) -> usize {
        match self.lines[..start].iter().rposition(|line| !bare(line).is_empty()) {
            Some(at) if is_ruler(self.lines[at]) => at,
            _ => start,
        }
    }
}

/// How the customer refers to the history below.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Pointer {
    /// "See below": they may refer to it.
    Place,
    /// "My answers are below", "I answered in red": they wrote in it.
    Answers,
}

fn pointer(own: &[&str]) -> Option<Pointer> {
    let in_line = |line: &&str| {
        let line = line.to_lowercase();
        let has_place = PLACES.iter().any(|place| says(&line, place));
        let has_colour = || COLOURS.iter().any(|colour| says(&line, colour));
        if ANSWERS.iter().any(|stem| line.contains(stem)) && (has_place || has_colour()) {
            return Some(Pointer::Answers);
        }
        has_place.then_some(Pointer::Place)
    };
    own.iter().filter_map(in_line).max()
}

/// "Re:", "AW:", "Fwd:" and what other languages have for them: one short word.
fn has_prefix(subject: &str) -> bool {
    let word = subject.split([':', '：']).next().unwrap_or("");
    word.len() < subject.len() && word.chars().count() <= 6 && !word.trim().contains(' ')
}

fn without_blank_ends<'l, 't>(lines: &'l [&'t str]) -> &'l [&'t str] {
    let has_words = |line: &&str| !bare(line).is_empty();
    match (lines.iter().position(has_words), lines.iter().rposition(has_words)) {
        (Some(first), Some(last)) => &lines[first..=last],
        _ => &[],
    }
}

/// Only rulers, and lines that a device adds by itself.
fn says_nothing(lines: &[&str]) -> bool {
    lines.iter().all(|line| {
        let line = bare(line);
        line.chars().all(|c| "-_=*>| \t".contains(c)) || {
            let lower: String = line.chars().take(60).collect::<String>().to_lowercase();
            DEVICE_LINES.iter().any(|device| lower.starts_with(device))
        }
    })
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
