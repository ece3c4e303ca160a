//! The `style` attribute of a stranger's HTML: only properties and values that are known to be harmless stay. Nothing that
//! loads, moves out of its place, or could be read in two ways: no function but those of colours, no escapes, no comments.

/// What lays a mail out. Not `position`, `float`s' cousins that cover other things, images, contents, or anything that moves.
const PROPERTIES: &[&str] = &[
    "background-color",
    "border",
    "border-bottom",
    "border-bottom-color",
    "border-bottom-style",
    "border-bottom-width",
    "border-collapse",
    "border-color",
    "border-left",
    "border-left-color",
    "border-left-style",
    "border-left-width",
    "border-radius",
    "border-right",
    "border-right-color",
    "border-right-style",
    "border-right-width",
    "border-spacing",
    "border-style",
    "border-top",
    "border-top-color",
    "border-top-style",
    "border-top-width",
    "border-width",
    "box-sizing",
    "clear",
    "color",
    "direction",
    "display",
    "float",
    "font",
    "font-family",
    "font-size",
    "font-style",
    "font-variant",
    "font-weight",
    "height",
    "letter-spacing",
    "line-height",
    "list-style-position",
    "list-style-type",
    "margin",
    "margin-bottom",
    "margin-left",
    "margin-right",
    "margin-top",
    "max-height",
    "max-width",
    "min-height",
    "min-width",
    "opacity",
    "overflow-wrap",
    "padding",
    "padding-bottom",
    "padding-left",
    "padding-right",
    "padding-top",
    "table-layout",
    "text-align",
    "text-decoration",
    "text-indent",
    "text-transform",
    "unicode-bidi",
    "vertical-align",
    "visibility",
    "white-space",
    "width",
    "word-break",
    "word-spacing",
    "word-wrap",
];
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
