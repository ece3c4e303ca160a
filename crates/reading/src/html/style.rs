//! The `style` attribute of a stranger's HTML: only properties and values that are known to be harmless stay. Nothing that
//! loads, moves out of its place, or could be read in two ways: no function but those of colours, no escapes, no comments.

use std::sync::LazyLock;

use crate::lists::{Words, words};

/// What lays a mail out. Not `position`, `float`s' cousins that cover other things, images, contents, or anything that moves.
static PROPERTIES: Words = LazyLock::new(|| words(include_str!("words/properties.txt")));
/// `background` may name an image; of it only a colour is kept.
const SHORTHAND: &str = "background";
const FUNCTIONS: &[&str] = &["rgb", "rgba", "hsl", "hsla"];
const MAX_VALUE: usize = 200;
const MAX_DECLARATIONS: usize = 60;

/// What may stay of a `style` attribute; empty when nothing may.
pub fn filtered(style: &str) -> String {
    let mut kept = String::new();
    for declaration in style.split(';').take(MAX_DECLARATIONS) {
        let Some((property, value)) = declaration.split_once(':') else { continue };
        let (property, value) = (property.trim().to_ascii_lowercase(), value.trim());
        let property = match property.as_str() {
            SHORTHAND if !value.contains(char::is_whitespace) => "background-color",
            other => other,
        };
        if PROPERTIES.contains(&property) && is_harmless(value) {
            kept.push_str(property);
            kept.push(':');
            kept.push_str(value);
            kept.push(';');
        }
    }
    kept
}

fn is_harmless(value: &str) -> bool {
    let plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, ' ' | '#' | '%' | '.' | ',' | '-' | '+' | '!' | '\'' | '"' | '(' | ')' | '/')
            || (letter.is_alphabetic() && !letter.is_ascii())
    };
    let is_even = |quote: char| value.matches(quote).count().is_multiple_of(2);
    !value.is_empty()
        && value.len() <= MAX_VALUE
        && value.chars().all(plain)
        && !value.contains("//")
        && is_even('\'')
        && is_even('"')
        && !(value.contains('\'') && value.contains('"'))
        && functions_are_known(value)
}

/// Every bracket belongs to the name of a colour's function right before it.
fn functions_are_known(value: &str) -> bool {
    let mut rest = value;
    while let Some(at) = rest.find('(') {
        let name = rest[..at].rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').next();
        let Some(end) = rest[at..].find(')') else { return false };
        let inside = &rest[at + 1..at + end];
        let numbers = |letter: char| letter.is_ascii_digit() || " .,%-/".contains(letter);
        let known = name.is_some_and(|name| FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name)));
        if !known || !inside.chars().all(numbers) {
            return false;
        }
        rest = &rest[at + end + 1..];
    }
    !rest.contains(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_colours_and_fonts_stay() {
        for style in [
            "color:#222;",
            "font-family:'Segoe UI', Arial, sans-serif;",
            "font-family:\"Hiragino Kaku Gothic\", ヒラギノ;",
            "background-color:rgb(1, 2, 3);",
            "border-left:1px solid rgba(0,0,0,.5);",
            "margin:0 auto !important;",
            "width:100%;max-width:600px;",
            "font:14px/20px Arial;",
        ] {
            assert_eq!(filtered(style), style);
        }
        assert_eq!(filtered(" COLOR : red ; ; x"), "color:red;");
        assert_eq!(filtered("background:#fff"), "background-color:#fff;");
    }

    #[test]
    fn nothing_that_loads_moves_or_hides_its_meaning_stays() {
        for style in [
            "background:url(https://x.test/a.png)",
            "background-image:url(a)",
            "background-color:url(a)",
            "color:u\\72l(a)",
            "width:expression(alert(1))",
            "width:exp/**/ression(alert(1))",
            "behavior:url(#default#x)",
            "-moz-binding:url(x)",
            "position:fixed",
            "content:'x'",
            "list-style:url(x)",
            "list-style-image:url(x)",
            "cursor:url(x),auto",
            "filter:progid:DXImageTransform.Microsoft.AlphaImageLoader(src='x')",
            "color:var(--x)",
            "width:attr(data-x)",
            "width:calc(1px + 1px)",
            "color:rgb(url(x))",
            "color:red)",
            "color:rgb(1,2,3",
            "color:red}body{color:blue",
            "font-family:'a",
            "color:red<!--",
            "@import 'x'",
            "color:image-set('https://x.test/a' 1x)",
            "animation:x 1s",
            "transform:scale(9)",
            "z-index:9",
            "font-family:a//b",
            "background:red url(x)",
            "color:\u{0}red",
            "color:red\n",
        ] {
            let kept = filtered(style);
            assert!(kept.is_empty() || kept == "color:red;", "{style} left {kept}");
        }
        assert_eq!(filtered(&format!("color:{}", "a".repeat(300))), "");
    }
}
