//! Words of people as HTML: paragraphs, line ends, links and mentions, and everything else escaped. This is the one place
//! where text that somebody wrote becomes markup.

use std::fmt::Write as _;

use askama::filters::Safe;
use linkify::{LinkFinder, LinkKind};

/// A link whose text is longer is cut in what is shown, not in where it leads.
const LONGEST_LINK: usize = 80;

/// How a text is turned into HTML.
#[derive(Clone, Copy)]
struct TextMarkup {
    mentions: bool,
    /// Characters of a link that are shown.
    link: usize,
    /// Whether links lead anywhere.
    follow: bool,
}

/// A message: paragraphs where a line is empty, links that open apart.
pub fn message(text: &str) -> Safe<String> {
    Safe(paragraphs(text, TextMarkup { mentions: false, link: LONGEST_LINK, follow: true }))
}

/// A message of somebody who may be out to cheat: its links are text, shown whole.
pub fn risky(text: &str) -> Safe<String> {
    Safe(paragraphs(text, TextMarkup { mentions: false, link: usize::MAX, follow: false }))
}

/// The same for a message that has not left: links are never shortened, so that whoever approves it sees all of it.
pub fn leaving(text: &str) -> Safe<String> {
    Safe(paragraphs(text, TextMarkup { mentions: false, link: usize::MAX, follow: true }))
}

/// A note: the same, with mentions marked.
pub fn note(text: &str) -> Safe<String> {
    Safe(paragraphs(text, TextMarkup { mentions: true, link: LONGEST_LINK, follow: true }))
}

fn paragraphs(text: &str, how: TextMarkup) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    let mut open = false;
    for line in text.lines() {
        if line.trim().is_empty() {
            if open {
                html.push_str("</p>");
            }
            open = false;
            continue;
        }
        html.push_str(if open { "<br>" } else { "<p dir=\"auto\">" });
        open = true;
        write_line(&mut html, line.trim_end(), how);
    }
    if open {
        html.push_str("</p>");
    }
    html
}

fn write_line(html: &mut String, line: &str, how: TextMarkup) {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url, LinkKind::Email]);
    for span in finder.spans(line) {
        let text = span.as_str();
        let target = match span.kind() {
            Some(LinkKind::Email) => Some(format!("mailto:{text}")),
            Some(LinkKind::Url) if is_web(text) => Some(text.to_owned()),
            _ => None,
        };
        match target {
            Some(_) if !how.follow => {
                html.push_str("<span class=\"deadlink\">");
                escape(html, text);
                html.push_str("</span>");
            }
            Some(target) => {
                let (mut shown, mut rest) = (text, "");
                if let Some((at, _)) = text.char_indices().nth(how.link) {
                    (shown, rest) = (&text[..at], "…");
                }
                html.push_str("<a href=\"");
                escape(html, &target);
                html.push_str("\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">");
                escape(html, shown);
                html.push_str(rest);
                html.push_str("</a>");
            }
            None if how.mentions => with_mentions(html, text),
            None => escape(html, text),
        }
    }
}

fn is_web(address: &str) -> bool {
    let starts = |with: &str| address.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    starts("https://") || starts("http://")
}

fn with_mentions(html: &mut String, text: &str) {
    let mut rest = text;
    let mut before = ' ';
    while let Some(at) = rest.find('@') {
        let (plain, from) = rest.split_at(at);
        escape(html, plain);
        before = plain.chars().next_back().unwrap_or(before);
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
        let end = from[1..].find(|letter| !is_name(letter)).map_or(from.len(), |end| end + 1);
        let (name, after) = from.split_at(end);
        if name.len() > 1 && !before.is_alphanumeric() {
            html.push_str("<span class=\"mention\">");
            escape(html, name);
            html.push_str("</span>");
        } else {
            escape(html, name);
        }
        before = name.chars().next_back().unwrap_or(' ');
        rest = after;
    }
    escape(html, rest);
}

pub fn escape(html: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            // Characters that turn the direction of what stands behind them are shown as what they are.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(html, "<span class=\"third\">U+{:04X}</span>", letter as u32);
            }
            letter => html.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_paragraphs_and_links_are_markup_and_nothing_else_is() {
        assert_eq!(
            message("Hi <b>\nyou\n\n\nsee https://a.example/?x=1&y='2'.").0,
            "<p dir=\"auto\">Hi &lt;b&gt;<br>you</p><p dir=\"auto\">see <a href=\"https://a.example/?x=1&amp;y=&#39;2&#39;\" \
             target=\"_blank\" rel=\"noopener noreferrer nofollow\">https://a.example/?x=1&amp;y=&#39;2&#39;</a>.</p>"
        );
        assert_eq!(
            risky("see https://a.example/<").0,
            "<p dir=\"auto\">see <span class=\"deadlink\">https://a.example/</span>&lt;</p>"
        );
        for text in [
            "javascript://x.example/%0aalert(1)",
            "data://x",
            "\"><script>alert(1)</script>",
            "ftp://x.example/",
        ] {
            let html = message(text).0;
            assert!(!html.contains("<a") && !html.contains("<script"), "{html}");
        }
        assert!(message("a@b.example").0.contains("href=\"mailto:a@b.example\""));
        assert_eq!(message("  \n").0, "");
    }

    #[test]
    fn a_note_marks_whom_it_mentions() {
        assert_eq!(
            note("@Ada & x@y (@tomás)").0,
            "<p dir=\"auto\"><span class=\"mention\">@Ada</span> &amp; x@y (<span class=\"mention\">@tomás</span>)</p>"
        );
        assert!(!note("@<img src=x>").0.contains("<img"));
    }
}
