//! Words of the service that are put under what somebody writes: a saved reply, times to book. What is formatted stays so, and
//! text stays text unless the page can show formatting.

use crate::replies::drafts::DraftWords;
use rookery_reading::html::written;

/// Puts a paragraph under the words. `formatting` is the same paragraph formatted, where that can be shown.
pub fn add(words: &mut DraftWords, paragraph: &str, formatting: Option<&str>) {
    let before = match (words.html.as_str(), formatting) {
        ("", None) => None,
        ("", Some(_)) => Some(written::from_text(words.body.trim_end())),
        (html, _) => Some(html.to_owned()),
    };
    let formatted = before.and_then(|before| {
        let gap = if before.is_empty() { "" } else { "<div><br></div>" };
        let under = formatting.map_or_else(|| written::from_text(paragraph.trim_end()), str::to_owned);
        written::stored(&format!("{before}{gap}{under}"))
    });
    words.body = match &formatted {
        Some(html) => written::text(html),
        None => {
            let gap = if words.body.trim().is_empty() { "" } else { "\n\n" };
            format!("{}{gap}{paragraph}", words.body.trim_end())
        }
    };
    // With too much formatting to keep, the text holds.
    words.html = formatted.unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(body: &str, html: &str, formatting: Option<&str>) -> DraftWords {
        let mut words = DraftWords { body: body.into(), html: html.into(), ..DraftWords::default() };
        add(&mut words, "Times:\n- one", formatting);
        words
    }

    #[test]
    fn it_comes_under_the_words_in_the_form_that_they_have() {
        let list = Some("<div>Times:</div><ul><li><a href=\"https://a.example/b/x\">one</a></li></ul>");
        let text = added("Hello \n", "", None);
        assert_eq!((text.body.as_str(), text.html.as_str()), ("Hello\n\nTimes:\n- one", ""));
        let text = added("", "", None);
        assert_eq!(text.body, "Times:\n- one");
        let bold = added("Hello", "<div><b>Hello</b></div>", None);
        assert_eq!(bold.body, "Hello\n\nTimes:\n- one");
        assert!(bold.html.starts_with("<div><b>Hello</b></div>"), "{}", bold.html);
        for (body, html) in [("Hello", ""), ("Hello", "<div><b>Hello</b></div>")] {
            let links = added(body, html, list);
            assert_eq!(links.body, "Hello\n\nTimes:\n- one <https://a.example/b/x>");
            assert!(links.html.contains("<a href=\"https://a.example/b/x\">one</a>"), "{}", links.html);
        }
    }
}
