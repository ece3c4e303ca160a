//! Text as HTML: paragraphs, nothing but web addresses made clickable. Each paragraph finds its own direction, and there is no
//! style that a reader's own would fight with.

use linkify::{LinkFinder, LinkKind};

pub fn paragraphs(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let blocks = lines.split(|line| line.is_empty()).filter(|block| !block.is_empty());
    let paragraph = |block: &[&str]| {
        let lines: Vec<String> = block.iter().map(|line| one_line(line)).collect();
        format!("<p dir=\"auto\">{}</p>\n", lines.join("<br>\n"))
    };
    blocks.map(paragraph).collect()
}

fn one_line(line: &str) -> String {
    let rest = line.trim_start_matches([' ', '\t']);
    // Lists are often indented by hand.
    let indent = "&nbsp;".repeat((line.len() - rest.len()).min(40));
    format!("{indent}{}", linked(rest))
}

/// Word by word, because an address ends at any white space.
pub fn linked(line: &str) -> String {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let mut html = String::with_capacity(line.len() + 16);
    for part in line.split_inclusive(char::is_whitespace).flat_map(|word| finder.spans(word)) {
        let text = escaped(part.as_str());
        // Other schemes than these are found too.
        let is_web = ["https://", "http://"].iter().any(|scheme| part.as_str().starts_with(scheme));
        match part.kind() {
            Some(LinkKind::Url) if is_web => html.push_str(&format!("<a href=\"{text}\">{text}</a>")),
            _ => html.push_str(&text),
        }
    }
    html
}

pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_web_addresses_are_clickable_and_only_they() {
        for (text, html) in [
            (
                "See https://a.example/x?a=1&b=2.",
                "See <a href=\"https://a.example/x?a=1&amp;b=2\">https://a.example/x?a=1&amp;b=2</a>.",
            ),
            (
                "(http://a.example/b_(c)) and <https://d.example>",
                "(<a href=\"http://a.example/b_(c)\">http://a.example/b_(c)</a>) and \
                 &lt;<a href=\"https://d.example\">https://d.example</a>&gt;",
            ),
            (
                "javascript:alert(1) xhttps://a https:// http://\"",
                "javascript:alert(1) xhttps://a https:// http://&quot;",
            ),
            (
                "https://a.example/\"onclick=\"x",
                "<a href=\"https://a.example/\">https://a.example/</a>&quot;onclick=&quot;x",
            ),
        ] {
            assert_eq!(linked(text), html);
        }
    }

    /// Whatever is written, a text eight times as long takes about eight times as long.
    #[test]
    fn linking_takes_time_in_proportion_to_the_text() {
        let hostile = [
            "http://a.example ",
            "http://a.example/",
            "http://",
            "https://a.example/)))).,",
            "http://a.example/(",
            "http://a@",
            "https://a:b@http://c!",
            "a:://",
            "aaaaaaaa.-+",
            "'http://a.example'",
        ];
        let linking = |text: &str| {
            let shortest = (0..3).map(|_| {
                let begun = Instant::now();
                let html = linked(text);
                assert!(html.len() >= text.len());
                begun.elapsed()
            });
            shortest.min().unwrap_or_default()
        };
        for piece in hostile {
            let text = |length: usize| piece.repeat(length / piece.len());
            let (short, long) = (linking(&text(128 * 1024)), linking(&text(1024 * 1024)));
            // Eight times in proportion, sixty-four times if every piece looked at all others.
            assert!(long < short * 30 + Duration::from_millis(20), "{piece:?}: {short:?}, then {long:?}");
        }
    }

    /// proves: RPL-15
    #[test]
    fn blank_lines_part_paragraphs_and_line_ends_stay() {
        assert_eq!(
            paragraphs("Dear Ada,\n\n\n  - one\n\t- <two>\n"),
            "<p dir=\"auto\">Dear Ada,</p>\n<p dir=\"auto\">&nbsp;&nbsp;- one<br>\n&nbsp;- &lt;two&gt;</p>\n"
        );
    }

    proptest! {
        /// Whatever is written, no tag or attribute comes of it but ours.
        #[test]
        fn no_text_becomes_markup(text in "([<>\"'&a-z:/. \n]|https?://[a-z<\"']{0,5}){0,60}") {
            let html = paragraphs(&text);
            for (at, _) in html.match_indices('<') {
                let rest = &html[at..];
                let ours = ["<p dir=\"auto\">", "</p>", "<br>", "<a href=\"http", "</a>"];
                prop_assert!(ours.iter().any(|tag| rest.starts_with(tag)), "{rest}");
            }
            for link in html.split("<a href=\"").skip(1) {
                let tag = link.split('>').next().unwrap_or_default();
                prop_assert_eq!(tag.matches('"').count(), 1, "{}", tag);
            }
        }
    }
}
