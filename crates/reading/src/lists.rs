//! Lists of words in text files beside the code that asks for them: one entry a line, in an order that counts, read once
//! when they are first asked for. A line that begins with `#` is a comment, and `[name]` begins a section.

use std::sync::LazyLock;

/// What stands beside what is looked for, and how surely it says so.
pub type Label = (&'static str, u8);
pub type Words = LazyLock<Vec<&'static str>>;
pub type Labels = LazyLock<Vec<Label>>;
pub type Pairs = LazyLock<Vec<(&'static str, &'static str)>>;

/// An entry is a line. One whose last space counts has a `|` behind it.
pub fn words(text: &'static str) -> Vec<&'static str> {
    let said = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    said.map(|line| line.strip_suffix('|').unwrap_or(line)).collect()
}

/// Each line is a word, a space and what belongs to it.
pub fn pairs(text: &'static str) -> Vec<(&'static str, &'static str)> {
    words(text).into_iter().map(|line| line.split_once(' ').expect("a word and another")).collect()
}

/// Each line is a weight and a label.
pub fn labels(text: &'static str) -> Vec<Label> {
    pairs(text).into_iter().map(|(weight, label)| (label, weight.parse().expect("a weight"))).collect()
}

/// The lines of a section.
pub fn section(text: &'static str, name: &str) -> &'static str {
    let begins = format!("[{name}]\n");
    let (_, rest) = text.split_once(&begins).expect("a section");
    rest.split_once("\n[").map_or(rest, |(own, _)| own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_line_and_a_comment_is_none() {
        assert_eq!(words("# about\nsent from my |\n\non behalf\n"), ["sent from my ", "on behalf"]);
        assert_eq!(labels("9 invoice no\n4 ref\n"), [("invoice no", 9), ("ref", 4)]);
        assert_eq!(pairs("US$ USD\n"), [("US$", "USD")]);
    }

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text = "# about\n[a]\none\n# of b\n[b]\ntwo\nthree\n";
        assert_eq!(words(section(text, "a")), ["one"]);
        assert_eq!(words(section(text, "b")), ["two", "three"]);
    }
}
