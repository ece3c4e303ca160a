//! Reduces untrusted text to one line, and knows the characters that disguise a name. Every name, subject and
//! address of a mail goes through here.

/// One line: controls and runs of white space become one space, the ends are trimmed.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_control() || c.is_whitespace() {
            gap = true;
            continue;
        }
        let needed = if gap && chars > 0 { 2 } else { 1 };
        if chars + needed > max_chars {
            break;
        }
        if needed == 2 {
            line.push(' ');
        }
        line.push(c);
        chars += needed;
        gap = false;
    }
    line
}

/// Invisible and direction-changing characters, which make a name look like another one.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
