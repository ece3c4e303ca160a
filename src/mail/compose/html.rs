//! The HTML form of a letter: its text in paragraphs, nothing but web addresses made clickable. Each paragraph
//! finds its own direction, and there is no style that a reader's own would fight with.

use super::quoted::Quoted;

pub(super) fn page(title: &str, text: &str, quoted: Option<&Quoted>) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n</head>\n<body>\n",
        escaped(title)
    );
    page.push_str(&paragraphs(text));
    if let Some(quoted) = quoted {
        page.push_str(&format!("<p>{}</p>\n", escaped(&quoted.opening)));
        page.push_str("<blockquote type=\"cite\">\n");
        page.push_str(&paragraphs(&quoted.text));
        page.push_str("</blockquote>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn paragraphs(text: &str) -> String {
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

fn linked(line: &str) -> String {
    let mut html = String::with_capacity(line.len() + 16);
    let mut rest = line;
    while let Some(start) = next_link(rest) {
        let (before, from) = rest.split_at(start);
        let (link, after) = from.split_at(link_length(from));
        let link = escaped(link);
        html.push_str(&format!("{}<a href=\"{link}\">{link}</a>", escaped(before)));
        rest = after;
    }
    html.push_str(&escaped(rest));
    html
}

/// Where the next web address begins, at the start of a word.
fn next_link(text: &str) -> Option<usize> {
    let starts = ["https://", "http://"].into_iter().flat_map(|scheme| text.match_indices(scheme));
    let begins_a_word = |at: &usize| !text[..*at].ends_with(char::is_alphanumeric);
    let has_a_host = |at: &usize| {
        let host = text[*at..].split("//").nth(1);
        host.is_some_and(|host| host.starts_with(char::is_alphanumeric))
    };
    starts.map(|(at, _)| at).filter(begins_a_word).filter(has_a_host).min()
}

/// Without the sentence's own signs after it; a closing bracket belongs to the address if it opened one.
fn link_length(text: &str) -> usize {
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | '"' | '`');
    let mut link = text.split(ends).next().unwrap_or_default();
    loop {
        let shorter = link.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
        let closes_more = |open: char, close: char| link.matches(close).count() > link.matches(open).count();
        let shorter = match shorter.chars().last() {
            Some(')') if closes_more('(', ')') => &shorter[..shorter.len() - 1],
            Some(']') if closes_more('[', ']') => &shorter[..shorter.len() - 1],
            _ => shorter,
        };
        if shorter.len() == link.len() {
            return link.len();
        }
        link = shorter;
    }
}

fn escaped(text: &str) -> String {
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
