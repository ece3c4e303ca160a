//! Finds where quoted history begins and keeps what stands above it: the customer's words.
//! When in doubt everything is kept; a long message is better than a lost sentence. One pass,
//! linear in the text, driven by the phrases of `phrases.rs`. Specification 2.4.

mod phrases;

use phrases::{ATTRIBUTIONS, Attribution, DEVICE_LINES, FORM_LABELS, LABELS, Label, MARKERS};

/// A line a program writes to introduce a quote is shorter than this.
const MAX_PHRASE_BYTES: usize = 600;
/// How many lines such a line may be wrapped over.
const MAX_WRAP: usize = 3;
/// Long recipient lists wrap; a header block is looked for in this many lines.
const MAX_BLOCK_LINES: usize = 12;

pub fn without_history(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let page = Page::new(&lines);
    let cut = (0..lines.len()).find(|at| page.begins_history(*at)).unwrap_or(lines.len());
    let kept = &lines[..page.above_separators(cut)];
    if cut == lines.len() || says_nothing(kept) {
        return text.to_owned();
    }
    let end = kept.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    kept[..end].join("\n")
}

struct Page<'t> {
    lines: &'t [&'t str],
    /// The first line from here on that is not blank; the number of lines if there is none.
    next_words: Vec<usize>,
    /// From here on there is nothing but quoted and blank lines.
    quoted_to_the_end: Vec<bool>,
}

impl<'t> Page<'t> {
    fn new(lines: &'t [&'t str]) -> Page<'t> {
        let mut next_words = vec![lines.len(); lines.len() + 1];
        let mut quoted_to_the_end = vec![true; lines.len() + 1];
        for (at, line) in lines.iter().enumerate().rev() {
            let blank = line.trim().is_empty();
            next_words[at] = if blank { next_words[at + 1] } else { at };
            quoted_to_the_end[at] = quoted_to_the_end[at + 1] && (blank || is_quoted(line));
        }
        Page { lines, next_words, quoted_to_the_end }
    }

    fn begins_history(&self, at: usize) -> bool {
        let line = self.lines[at];
        if line.trim().is_empty() {
            return false;
        }
        if is_quoted(line) {
            return self.quoted_to_the_end[at];
        }
        if is_marker(line) {
            return !self.is_answered_below(at + 1);
        }
        if let Some(end) = self.header_block(at) {
            return !self.is_answered_below(end);
        }
        match self.attribution(at) {
            Some((end, is_sure)) if self.next_words[end] < self.lines.len() => {
                if is_quoted(self.lines[self.next_words[end]]) {
                    self.quoted_to_the_end[end]
                } else {
                    is_sure
                }
            }
            Some((_, is_sure)) => is_sure,
            None => false,
        }
    }

    /// Quoted lines with words below or between them: someone answered there.
    fn is_answered_below(&self, from: usize) -> bool {
        let next = self.next_words[from];
        next < self.lines.len() && is_quoted(self.lines[next]) && !self.quoted_to_the_end[from]
    }

    /// Lines that introduce a quote, "On ... wrote:", perhaps wrapped. Gives the line after
    /// them and whether they stand for history even when no quoted line follows.
    fn attribution(&self, at: usize) -> Option<(usize, bool)> {
        let last = self.lines.len().min(at + MAX_WRAP);
        // Most lines are neither; this keeps a text of a million lines quick.
        let is_possible = self.lines[at..last].iter().any(|line| ends_with_colon(line))
            && self.lines[at..last].iter().any(|line| has_date_or_address(line));
        if !is_possible {
            return None;
        }
        let mut joined = String::new();
        for end in at..last {
            let line = self.lines[end].trim();
            if line.is_empty() || is_quoted(line) || joined.len() + line.len() > MAX_PHRASE_BYTES {
                return None;
            }
            if end > at {
                joined.push(' ');
            }
            joined.push_str(&line.to_lowercase());
            let evidence = Evidence::of(&joined);
            if let Some(is_sure) = evidence.attribution(&joined) {
                // The first line is the customer's own if the rest stands without it.
                let stands_alone = end > at && self.attribution(at + 1).is_some();
                return (!stands_alone).then_some((end + 1, is_sure));
            }
            if ends_sentence(line) || line.ends_with([':', '：']) || !evidence.may_open(&joined) {
                return None;
            }
        }
        None
    }

    /// From, Sent, To and Subject below each other, as Outlook writes them. Gives the line
    /// after the block.
    fn header_block(&self, at: usize) -> Option<usize> {
        if label(self.lines[at]) != Some(Label::From) {
            return None;
        }
        let mut found = [false; 5];
        let mut end = at;
        let last = self.lines.len().min(at + MAX_BLOCK_LINES);
        for (next, line) in self.lines[at..last].iter().enumerate() {
            if line.trim().is_empty() || is_form_label(line) {
                break;
            }
            if let Some(label) = label(line) {
                if next > 0 && label == Label::From {
                    break;
                }
                found[label as usize] = true;
                end = at + next + 1;
            }
        }
        // A booking has From, To and Date as well, but no subject and no address.
        let has = |label: Label| found[label as usize];
        let named = has(Label::Subject) || self.lines[at].contains('@');
        let kinds = [Label::Date, Label::To, Label::Subject];
        let enough = has(Label::Date) && kinds.into_iter().filter(|l| has(*l)).count() >= 2;
        let is_form = self.lines.get(end).is_some_and(|line| is_form_label(line));
        (named && enough && !is_form).then_some(end)
    }

    /// The ruler above a header block is history too.
    fn above_separators(&self, cut: usize) -> usize {
        let words_above = self.lines[..cut].iter().rposition(|line| !line.trim().is_empty());
        match words_above {
            Some(at) if is_separator(self.lines[at]) => at,
            _ => cut,
        }
    }
}

/// What in a line shows that a program wrote it.
struct Evidence {
    has_address: bool,
    has_digit: bool,
    has_year: bool,
    has_time: bool,
}

impl Evidence {
    fn of(line: &str) -> Evidence {
        let (has_year, has_time) = date_signs(line);
        Evidence {
            has_address: line.contains('@'),
            has_digit: line.bytes().any(|b| b.is_ascii_digit()),
            has_year,
            has_time,
        }
    }

    /// `Some(true)` is sure on its own, `Some(false)` needs quoted lines below it.
    fn attribution(&self, line: &str) -> Option<bool> {
        let stem = line.strip_suffix([':', '：'])?.trim_end();
        let dated = self.has_year && self.has_time;
        let sure = self.has_address || dated;
        for language in ATTRIBUTIONS {
            if language.verbs.iter().any(|verb| language.says(stem, verb)) {
                if language.own.iter().any(|own| language.says(stem, own)) {
                    return None;
                }
                let opened = language.openings.iter().any(|o| stem.starts_with(o));
                if sure || (opened && self.has_digit) {
                    return Some(sure);
                }
            }
        }
        // Gmail has no verb in some languages: a date, a name and "<address>:" at the end.
        (dated && self.has_address && stem.ends_with('>')).then_some(true)
    }

    fn may_open(&self, line: &str) -> bool {
        self.has_digit
            || self.has_address
            || ATTRIBUTIONS.iter().any(|language| language.openings.iter().any(|o| line.starts_with(o)))
    }
}

impl Attribution {
    fn says(&self, line: &str, phrase: &str) -> bool {
        line.match_indices(phrase).any(|(at, found)| {
            let before = line[..at].chars().next_back();
            let after = line[at + found.len()..].chars().next();
            let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
            !self.has_spaces || !(is_letter(before) || is_letter(after))
        })
    }
}

/// Whether the line names a year (2026, 3/4/26, 3.4.2026) and a time of day (10:30, 10.30).
fn date_signs(line: &str) -> (bool, bool) {
    let bytes = line.as_bytes();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at > start {
            runs.push((start, at));
        }
        at += 1;
    }
    let is_year = |(start, end): &(usize, usize)| {
        end - start == 4 && (line[*start..*end].starts_with("19") || line[*start..*end].starts_with("20"))
    };
    let joined_by =
        |a: &(usize, usize), b: &(usize, usize), signs: &[u8]| b.0 == a.1 + 1 && signs.contains(&bytes[a.1]);
    let short = |(start, end): &(usize, usize)| end - start <= 2;
    let numeric_date = runs
        .windows(3)
        .any(|r| joined_by(&r[0], &r[1], b"./-") && joined_by(&r[1], &r[2], b"./-") && short(&r[0]));
    let time = runs.windows(2).enumerate().any(|(at, r)| {
        let two_digits = r[1].1 - r[1].0 == 2 && short(&r[0]);
        let by_colon = joined_by(&r[0], &r[1], b":h");
        // A dot makes a time only when it is no part of a date such as 12.03.2026.
        let by_dot = joined_by(&r[0], &r[1], b".")
            && !runs.get(at + 2).is_some_and(|next| joined_by(&r[1], next, b"."))
            && !(at > 0 && joined_by(&runs[at - 1], &r[0], b"."));
        two_digits && (by_colon || by_dot)
    });
    (numeric_date || runs.iter().any(is_year), time)
}

fn is_quoted(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

fn ends_with_colon(line: &str) -> bool {
    line.trim_end().ends_with([':', '：'])
}

fn has_date_or_address(line: &str) -> bool {
    line.bytes().any(|b| b.is_ascii_digit() || b == b'@')
}

fn is_separator(line: &str) -> bool {
    let line = line.trim();
    line.chars().count() >= 5 && line.chars().all(|c| matches!(c, '_' | '-' | '=' | '—' | '─'))
}

fn ends_sentence(line: &str) -> bool {
    let is_word_before = |dot: char| {
        line.strip_suffix(dot)
            .is_some_and(|rest| rest.chars().rev().take_while(|c| c.is_alphabetic()).count() > 3)
    };
    line.ends_with(['!', '?', '。']) || is_word_before('.')
}

/// "-----Original Message-----" and its kin. The bare words are no marker without their
/// dashes, unless the program writes them so.
fn is_marker(line: &str) -> bool {
    let line = line.trim();
    let dashes = |c: char| matches!(c, '-' | '_' | '=' | '*' | '—' | '─');
    let is_possible = line.starts_with(dashes) || ends_with_colon(line);
    if line.len() > MAX_PHRASE_BYTES || !is_possible {
        return false;
    }
    let inner = line.trim_matches(dashes);
    let has_dashes = line.starts_with(dashes) && line.ends_with(dashes) && line.len() >= inner.len() + 4;
    let inner = inner.trim().to_lowercase();
    let words = inner.trim_end_matches([':', '：', ' ']);
    MARKERS.iter().any(|(marker, dashed)| {
        *marker == words && if *dashed { has_dashes } else { ends_with_colon(line) || has_dashes }
    })
}

fn label(line: &str) -> Option<Label> {
    let (name, _) = line.trim_start().split_once([':', '：'])?;
    if name.len() > 60 {
        return None;
    }
    let name = name.trim_matches(|c: char| c == '*' || c.is_whitespace()).to_lowercase();
    LABELS.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(label, _)| *label)
}

/// A web form has labels of its own below From and Subject; what stands there is the message.
fn is_form_label(line: &str) -> bool {
    line.split_once([':', '：']).is_some_and(|(name, _)| {
        name.len() <= 60 && FORM_LABELS.contains(&name.trim().to_lowercase().as_str())
    })
}

/// Nothing but rulers and lines a device adds by itself.
fn says_nothing(lines: &[&str]) -> bool {
    lines.iter().all(|line| {
        let line = line.trim();
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
