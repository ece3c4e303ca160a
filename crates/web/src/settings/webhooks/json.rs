//! JSON with line breaks, for people to read: every token as it was sent and in its order, only the white space is ours.
//! The signature covers the bytes without it.

pub fn spaced(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let mut letters = json.chars().peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(letter) = letters.next() {
        if in_string {
            text.push(letter);
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            continue;
        }
        match letter {
            '{' | '[' => {
                text.push(letter);
                if matches!((letter, letters.peek()), ('{', Some('}')) | ('[', Some(']'))) {
                    text.extend(letters.next());
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(letter);
            }
            ',' => {
                text.push(letter);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            ' ' | '\n' | '\r' | '\t' => {}
            '"' => {
                in_string = true;
                text.push(letter);
            }
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_is_added() {
        let sent = r#"{"b":"a, {\"x\": 1}","a":[1,2],"none":{},"c":null}"#;
        assert_eq!(
            spaced(sent),
            "{\n  \"b\": \"a, {\\\"x\\\": 1}\",\n  \"a\": [\n    1,\n    2\n  ],\n  \"none\": {},\n  \"c\": null\n}"
        );
        for nonsense in ["", "}", "]]}{", "\"", "{\"a"] {
            spaced(nonsense);
        }
    }
}
