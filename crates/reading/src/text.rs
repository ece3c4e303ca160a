//! Text from outside, made safe to store and to show: no control characters, one kind of line end.
//! What a person wrote stays as it is otherwise (specification 4).

/// Several lines: CRLF becomes LF, controls other than TAB and LF go.
pub fn lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line.strip_suffix('\r').unwrap_or(line), "\n"),
            None => (line, ""),
        };
        // Fast path: most lines have nothing to clean.
        if line.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            lines.push_str(line);
        } else {
            lines.extend(line.chars().filter_map(|letter| match letter {
                '\r' => Some('\n'),
                '\t' => Some(letter),
                _ => (!letter.is_control()).then_some(letter),
            }));
        }
        lines.push_str(end);
    }
    lines
}

/// One line: controls and runs of white space become single spaces.
pub fn line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let mut line = String::with_capacity(text.len());
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The start of a text as one line of at most `most` characters.
pub fn snippet(text: &str, most: usize) -> String {
    // Looks at a bounded prefix: runs of white space shrink, so it is longer than the snippet.
    let end = text.char_indices().map(|(at, _)| at).nth(most * 8).unwrap_or(text.len());
    line(&text[..end]).chars().take(most).collect()
}

/// The mail addresses that stand in a text, in lower case. Of one with signs in front that an address may have but seldom
/// has (`q=a@b.example`), the rest too.
pub fn addresses_in(text: &str) -> impl Iterator<Item = String> {
    let apart =
        |letter: char| letter.is_whitespace() || letter.is_control() || "<>,;:\"()[]{}\\".contains(letter);
    text.split(apart).filter(|word| word.contains('@')).flat_map(|word| {
        let word = word.trim_matches(['.', '\'', '!', '?', '@']).to_lowercase();
        let rest = word.rsplit(['/', '=', '&', '?', '|', '\'']).next().unwrap_or_default().to_owned();
        let both = if rest == word { vec![word] } else { vec![word, rest] };
        both.into_iter().filter(|one| one.contains('@'))
    })
}

/// Whether a text names the very address, and not a longer one.
pub fn names_address(text: &str, address: &str) -> bool {
    addresses_in(text).any(|one| one == address.to_lowercase())
}

/// One line in which no address stands, for what is kept longer than the people it is about.
pub fn without_addresses(text: &str) -> String {
    let words = text.split_whitespace().map(|word| if word.contains('@') { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// For a terminal: control characters and characters that reorder text are escaped as `\u{1b}`. Line breaks stay.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for letter in text.replace("\r\n", "\n").chars() {
        match letter {
            '\n' | '\t' => visible.push(letter),
            letter if is_unseen(letter) => visible.extend(letter.escape_unicode()),
            letter => visible.push(letter),
        }
    }
    visible
}

/// Without the signs that turn the order of letters around. Joiners and marks stay: names and words need them.
pub fn in_order(text: &str) -> String {
    text.chars()
        .filter(|letter| !matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect()
}

/// Without characters that nobody sees: what is read is what is there.
pub fn without_unseen(text: &str) -> String {
    // Fillers, blanks that are letters, and what only changes the look of the letter before.
    let fills = |letter: char| {
        matches!(letter,
            '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
    };
    let stays = |letter: &char| matches!(letter, '\n' | '\t') || !(is_unseen(*letter) || fills(*letter));
    text.chars().filter(stays).collect()
}

/// Equivalent JSON in which control characters are escaped.
pub fn visible_json(json: &str) -> String {
    let mut visible = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_unseen(letter) {
            let units = letter
                .encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect::<String>();
            visible.push_str(&units);
        } else {
            visible.push(letter);
        }
    }
    visible
}

/// Controls, and Unicode's format characters: direction, joiners, invisible signs and tags.
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_hold_a_second_one() {
        assert_eq!(line(" a\r\nBcc: b\u{85}c\u{2028}d\t"), "a Bcc: b c d");
    }

    #[test]
    fn lines_keep_what_was_written() {
        assert_eq!(lines("a\r\n\tb\rc\u{0}\u{7}"), "a\n\tb\nc");
    }

    #[test]
    fn terminal_output_has_no_control_characters() {
        assert_eq!(
            visible("a\u{1b}[2J\r\nb\rc\u{202e}d\u{9b}\tü🐦"),
            "a\\u{1b}[2J\nb\\u{d}c\\u{202e}d\\u{9b}\tü🐦"
        );
        let words = serde_json::json!({ "a": "\u{1b}\u{7f}\u{85}\u{202e}\u{e0041}ü\n" });
        let shown = visible_json(&words.to_string());
        assert!(shown.chars().all(|letter| !is_unseen(letter)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), words);
    }

    #[test]
    fn a_text_names_an_address_whole_or_not_at_all() {
        for line in [
            "a@b.example",
            "x@y.example, A@B.example",
            "\"Ann\" <a@b.example>; c@d.example",
            "Mail of a@b.example.",
            "from:a@b.example",
            "q=a@b.example",
            "{\"like\": \"a@b.example\"}",
            "'a@b.example'",
        ] {
            assert!(names_address(line, "a@b.example"), "{line}");
        }
        for line in
            ["aa@b.example", "a@b.example.org", "", "a@b", "a @b.example", "x.a@b.example", "o'a@b.examples"]
        {
            assert!(!names_address(line, "a@b.example"), "{line}");
        }
        assert!(names_address("O'Neil@b.example", "o'neil@b.example"));
        assert_eq!(without_addresses("Mail of  a@b.example, and more"), "Mail of … and more");
    }

    #[test]
    fn a_snippet_is_cut_in_characters() {
        assert_eq!(snippet("  ü  ü  ü", 3), "ü ü");
        assert_eq!(snippet(&"x".repeat(500), 200).len(), 200);
    }
}
