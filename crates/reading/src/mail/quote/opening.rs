//! Recognizes the lines with which mail programs begin quoted history: "On ... wrote:", a block of From, Sent, To
//! and Subject, or "-----Original Message-----". A likely opening needs quoted lines below it; a line that a
//! person could have written is not an opening. Specification 2.4.

use super::evidence::{Evidence, with_ascii_digit};
use super::line::{bare, is_quoted, says};
use super::phrases::{ATTRIBUTIONS, FORM_LABELS, LABELS, Label, MARKERS};

/// Long recipient lists wrap; an opening is looked for in this many lines.
pub(super) const MAX_OPENING_LINES: usize = 14;
/// A line that introduces a quote is shorter than this.
const MAX_PHRASE_BYTES: usize = 600;
/// How many lines such a line may be wrapped over.
const MAX_WRAP: usize = 3;

pub(super) struct Opening {
    /// How many lines it takes.
    pub lines: usize,
    pub trust: Trust,
}

/// When an opening counts as history even though no quoted line follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Never: a person could have written it.
    Never,
    /// In replies and forwarded mail only. In a new mail it is a web form, or a mail that the customer copied.
    InAnswers,
    Full,
}

/// The opening that begins with the first of these lines.
pub(super) fn find_opening(lines: &[&str]) -> Option<Opening> {
    if is_marker(lines.first()?) {
        // The opening may continue below the marker.
        let next = (1..lines.len()).find(|at| !bare(lines[*at]).is_empty());
        let more = next.and_then(|at| Some(at + find_opening(&lines[at..])?.lines));
        return Some(Opening { lines: more.unwrap_or(1), trust: Trust::Full });
    }
    let ruler = usize::from(is_worded_ruler(lines[0]));
    if let Some(block) = header_block(&lines[ruler..], ruler > 0) {
        return Some(Opening { lines: ruler + block, trust: Trust::InAnswers });
    }
    attribution(lines)
}

/// Lines that introduce a quote, "On ... wrote:", perhaps wrapped.
fn attribution(lines: &[&str]) -> Option<Opening> {
    let lines = &lines[..lines.len().min(MAX_WRAP)];
    // Most lines are neither; this keeps a text of a million lines quick.
    let is_possible = lines.iter().any(|line| stem(bare(line)).is_some())
        && lines.iter().any(|line| line.chars().any(|c| c == '@' || with_ascii_digit(c).is_ascii_digit()));
    if !is_possible {
        return None;
    }
    for (at, line) in lines.iter().map(|line| bare(line)).enumerate() {
        if line.is_empty() || is_quoted(line) {
            return None;
        }
        let (text, evidence) = read_as_one(&lines[..=at])?;
        if let Some(trust) = stem(&text).and_then(|stem| evidence.of_attribution(stem)) {
            return (!is_first_line_own(&lines[..=at])).then_some(Opening { lines: at + 1, trust });
        }
        let may_go_on = evidence.may_open(&text) && !ends_sentence(line) && !line.ends_with([':', '：']);
        if !may_go_on {
            return None;
        }
    }
    None
}

/// The lines in lower case and with ASCII digits, as one line.
fn read_as_one(lines: &[&str]) -> Option<(String, Evidence)> {
    if lines.iter().map(|line| line.len()).sum::<usize>() > MAX_PHRASE_BYTES {
        return None;
    }
    let joined = lines.iter().map(|line| bare(line)).collect::<Vec<_>>().join(" ");
    let text: String = joined.to_lowercase().chars().map(with_ascii_digit).collect();
    let evidence = Evidence::from_line(&text);
    Some((text, evidence))
}

/// Whether the first line is the customer's own, because the rest is an opening without it. If the rest has no
/// date, the line may still belong to it: programs wrap "On <date> <name>" before "<address> wrote:".
fn is_first_line_own(lines: &[&str]) -> bool {
    (1..lines.len()).any(|at| {
        let (Some((above, date)), Some((rest, evidence))) =
            (read_as_one(&lines[..at]), read_as_one(&lines[at..]))
        else {
            return false;
        };
        let is_begun =
            date.is_dated() && (opens(&above) || above.chars().take(8).any(|c| c.is_ascii_digit()));
        let stands_alone = stem(&rest).is_some_and(|stem| evidence.of_attribution(stem).is_some());
        stands_alone && (evidence.is_dated() || !is_begun)
    })
}

fn opens(line: &str) -> bool {
    ATTRIBUTIONS.iter().any(|language| language.opens(line))
}

/// The text before the colon that ends an attribution. Zoho uses rulers instead.
fn stem(line: &str) -> Option<&str> {
    let between_rulers = || Some(line.strip_prefix("---")?.strip_suffix("---")?.trim_matches(['-', ' ']));
    line.strip_suffix([':', '：']).map(str::trim_end).or_else(between_rulers)
}

impl Evidence {
    /// A person may also write "On 3 March 2026 at 10:30 Bob wrote:", but not with the address.
    fn of_attribution(&self, stem: &str) -> Option<Trust> {
        let stem = bare(stem);
        let trust = |is_whole| {
            if is_whole && self.is_dated() && self.has_address { Trust::InAnswers } else { Trust::Never }
        };
        for language in ATTRIBUTIONS.iter() {
            if language.verbs.iter().any(|verb| says(stem, verb)) {
                if language.own.iter().any(|own| says(stem, own)) {
                    return None;
                }
                let opened = language.opens(stem);
                if self.has_address || self.is_dated() || (opened && self.has_digit) {
                    let ends_in_data = stem.ends_with(|c: char| ">)]".contains(c) || c.is_ascii_digit());
                    return Some(trust(
                        ends_in_data || language.verbs.iter().any(|verb| stem.ends_with(verb)),
                    ));
                }
            }
        }
        // Some have no verb, or an unknown one: a date, a name and "<address>:" at the end.
        let is_named = stem.ends_with('>');
        (self.has_address && (self.is_dated() || is_named)).then(|| trust(is_named))
    }

    fn may_open(&self, line: &str) -> bool {
        self.has_digit || self.has_address || opens(line)
    }
}

fn ends_sentence(line: &str) -> bool {
    let is_word_before = |dot: char| {
        line.strip_suffix(dot)
            .is_some_and(|rest| rest.chars().rev().take_while(|c| c.is_alphabetic()).count() > 3)
    };
    line.ends_with(['!', '?', '。']) || is_word_before('.')
}

/// From, Sent, To and Subject on consecutive lines, in any order that does not begin with a recipient; fewer of
/// them suffice below a ruler. Gives the number of lines.
fn header_block(lines: &[&str], is_ruled: bool) -> Option<usize> {
    if !matches!(label(lines.first()?)?, Label::From | Label::Date | Label::Subject) {
        return None;
    }
    let mut found: [Option<&str>; 5] = [None; 5];
    let mut end = 0;
    for (at, line) in lines.iter().enumerate() {
        if bare(line).is_empty() || is_form_label(line) {
            break;
        }
        match label(line) {
            Some(label) if found[label as usize].is_none() => {
                found[label as usize] = Some(line);
                end = at + 1;
            }
            // A long list of recipients wraps, but what stands above From is short.
            None if found[Label::From as usize].is_some() => {}
            _ => break,
        }
    }
    // A booking has From, To and Date as well, but no subject and no address.
    let has = |label: Label| found[label as usize].is_some();
    let has_address = found[Label::From as usize]?.contains('@');
    let is_whole = has(Label::Date) && (has(Label::Subject) || (has(Label::To) && has_address));
    let is_enough = is_whole || (is_ruled && has_address && end > 1);
    let is_form = lines.get(end).is_some_and(|line| is_form_label(line));
    (is_enough && !is_form).then_some(end)
}

fn label(line: &str) -> Option<Label> {
    let (name, _) = bare(line).split_once([':', '：'])?;
    if name.len() > 60 {
        return None;
    }
    let name = name.trim_matches(|c: char| c == '*' || c.is_whitespace()).to_lowercase();
    LABELS.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(label, _)| *label)
}

/// A web form has labels of its own below From and Subject; they contain the message.
fn is_form_label(line: &str) -> bool {
    line.split_once([':', '：']).is_some_and(|(name, _)| {
        name.len() <= 60 && FORM_LABELS.contains(&name.trim().to_lowercase().as_str())
    })
}

/// "-----Original Message-----" and its kin. The bare words are no marker without their
/// dashes, unless the program writes them so.
fn is_marker(line: &str) -> bool {
    let line = bare(line);
    let is_possible = line.starts_with(is_dash) || line.ends_with([':', '：']);
    if line.len() > MAX_PHRASE_BYTES || !is_possible {
        return false;
    }
    let inner = line.trim_matches(is_dash);
    let has_dashes = line.starts_with(is_dash) && line.ends_with(is_dash) && line.len() >= inner.len() + 4;
    let inner = inner.trim().to_lowercase();
    let words = inner.trim_end_matches([':', '：', ' ']);
    MARKERS.iter().any(|marker| match marker.strip_suffix(':') {
        Some(marker) => marker == words && (line.ends_with([':', '：']) || has_dashes),
        None => *marker == words && has_dashes,
    })
}

pub(super) fn is_ruler(line: &str) -> bool {
    let line = bare(line);
    line.chars().count() >= 5 && line.chars().all(is_dash)
}

/// "--- Mail original ---"
fn is_worded_ruler(line: &str) -> bool {
    let line = bare(line);
    line.len() <= MAX_PHRASE_BYTES && line.starts_with("---") && line.ends_with("---")
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '_' | '=' | '*' | '—' | '─')
}
