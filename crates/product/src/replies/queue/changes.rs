//! What a person changed in a draft, word by word, so that what was drafted and what was sent can be read as one text.
//! Scripts without spaces are compared by the words that Unicode finds in them.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Texts may be long and have nothing in common. What is found by then is right, only not the shortest.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextChange {
    Same(String),
    Gone(String),
    New(String),
}

/// The new text with what was taken out of the old one in its place. Neighbours of one kind are one.
pub fn between(old: &str, new: &str) -> Vec<TextChange> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_unicode_words(old, new);
    let mut changes: Vec<TextChange> = Vec::new();
    // A word that took another's place: what went stands before what came, even when a space between them stayed.
    for change in diff.iter_all_changes() {
        let word = change.value();
        match (change.tag(), changes.last_mut()) {
            (ChangeTag::Equal, Some(TextChange::Same(text)))
            | (ChangeTag::Delete, Some(TextChange::Gone(text)))
            | (ChangeTag::Insert, Some(TextChange::New(text))) => text.push_str(word),
            (ChangeTag::Equal, _) => changes.push(TextChange::Same(word.to_owned())),
            (ChangeTag::Delete, _) => changes.push(TextChange::Gone(word.to_owned())),
            (ChangeTag::Insert, _) => changes.push(TextChange::New(word.to_owned())),
        }
    }
    changes
}

/// How many places were changed: a word that took another's place is one.
pub fn count(changes: &[TextChange]) -> usize {
    let mut places = 0;
    let mut inside = false;
    for change in changes {
        let changed = !matches!(change, TextChange::Same(_));
        places += usize::from(changed && !inside);
        inside = changed;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark_changes(old: &str, new: &str) -> String {
        between(old, new)
            .iter()
            .map(|change| match change {
                TextChange::Same(text) => text.clone(),
                TextChange::Gone(text) => format!("[-{text}-]"),
                TextChange::New(text) => format!("[+{text}+]"),
            })
            .collect()
    }

    #[test]
    fn a_changed_word_stands_beside_the_one_it_replaced() {
        assert_eq!(
            mark_changes("Come at two, please.", "Come at ten, please."),
            "Come at [-two-][+ten+], please."
        );
        assert_eq!(count(&between("Come at two, please.", "Come at ten, please.")), 1);
        assert_eq!(between("Same.", "Same."), [TextChange::Same("Same.".to_owned())]);
    }

    #[test]
    fn scripts_without_spaces_are_compared_inside_a_sentence() {
        let shown = mark_changes("入居日を12月1日に変更", "入居日を12月5日に変更");
        assert!(shown.starts_with("入居日を") && shown.ends_with("に変更"), "{shown}");
    }

    #[test]
    fn both_texts_can_be_read_back_from_the_changes() {
        let (old, new) = ("Dear Ada,\n\nno.\nYours", "Dear Ada,\n\nyes, of course!\n\nYours\n");
        let changes = between(old, new);
        let read = |not: fn(&TextChange) -> bool| -> String {
            let kept = changes.iter().filter(|change| !not(change));
            kept.map(|(TextChange::Same(text) | TextChange::Gone(text) | TextChange::New(text))| {
                text.as_str()
            })
            .collect()
        };
        assert_eq!(read(|change| matches!(change, TextChange::New(_))), old);
        assert_eq!(read(|change| matches!(change, TextChange::Gone(_))), new);
    }

    #[test]
    fn long_texts_with_nothing_in_common_do_not_take_long() {
        let old: String = (0..8_000).map(|word| format!("a{word} ")).collect();
        let new: String = (0..8_000).map(|word| format!("b{word} ")).collect();
        assert!(!between(&old, &new).is_empty());
    }
}
