//! The words with which mail programs introduce quoted history, by language, in lower case.
//! Data only; the rule that reads it is in `quote.rs`. Specification 2.4.

use std::sync::LazyLock;

use crate::lists::{Words, section, words};

/// How a language says "On <date> <someone> wrote:".
pub(super) struct Attribution {
    /// How the line may begin; empty when it begins with the date or the name.
    openings: Vec<&'static str>,
    pub verbs: Vec<&'static str>,
    /// What only a person writes: "I wrote".
    pub own: Vec<&'static str>,
}

impl Attribution {
    fn read(line: &'static str) -> Self {
        let mut columns = line.split(';').map(|column| {
            column.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()).collect::<Vec<_>>()
        });
        let mut next = || columns.next().expect("three columns");
        Self { openings: next(), verbs: next(), own: next() }
    }

    pub fn opens(&self, line: &str) -> bool {
        let is_first = |opening: &&str| line.strip_prefix(opening).is_some_and(|rest| rest.starts_with(' '));
        self.openings.iter().any(is_first)
    }
}

pub(super) static ATTRIBUTIONS: LazyLock<Vec<Attribution>> = LazyLock::new(|| {
    words(include_str!("words/attributions.txt")).into_iter().map(Attribution::read).collect()
});

/// A marker. One that ends with a colon counts without dashes, too.
pub(super) static MARKERS: Words = LazyLock::new(|| words(include_str!("words/markers.txt")));

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    From,
    Date,
    To,
    Cc,
    Subject,
}

pub(super) static LABELS: LazyLock<Vec<(Label, Vec<&str>)>> = LazyLock::new(|| {
    let text = include_str!("words/labels.txt");
    let fields = [
        (Label::From, "from"),
        (Label::Date, "date"),
        (Label::To, "to"),
        (Label::Cc, "cc"),
        (Label::Subject, "subject"),
    ];
    fields.map(|(label, name)| (label, words(section(text, name)))).into()
});

/// Labels of web forms that send what a visitor typed.
pub(super) static FORM_LABELS: Words = LazyLock::new(|| words(include_str!("words/form_labels.txt")));

/// What phones and programs add below every mail.
pub(super) static DEVICE_LINES: Words = LazyLock::new(|| words(include_str!("words/device_lines.txt")));

/// Phrases with which customers refer to the history below.
pub(super) static PLACES: Words = LazyLock::new(|| words(include_str!("words/places.txt")));

/// The same by colour ("in red"), when the line is about answers.
pub(super) static COLOURS: Words = LazyLock::new(|| words(include_str!("words/colours.txt")));

pub(super) static ANSWERS: Words = LazyLock::new(|| words(include_str!("words/answers.txt")));
