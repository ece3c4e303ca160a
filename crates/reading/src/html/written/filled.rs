//! The stored form of words that have variables, with other words in their place. Whatever those are, they become text and no
//! markup, and a link leads where its address says or is none.

use super::links;
use super::tree::{self, Node};

/// `words` has what a piece of text becomes, and `address` what the address of a link does. A link that leads nowhere then
/// becomes its words, and what it led to is written behind them as text: one who reads it sees what is missing.
pub fn filled(
    stored: &str,
    words: impl Fn(&str) -> String,
    address: impl Fn(&str) -> Option<String>,
) -> String {
    tree::write(&fill(tree::read(stored), &words, &address))
}

fn fill(
    nodes: Vec<Node>,
    words: &impl Fn(&str) -> String,
    address: &impl Fn(&str) -> Option<String>,
) -> Vec<Node> {
    let text = |written: &str| Node::Text(words(written).chars().filter(|one| tree::is_kept(*one)).collect());
    let mut filled = Vec::with_capacity(nodes.len());
    for node in nodes {
        let mut element = match node {
            Node::Text(written) => {
                filled.push(text(&written));
                continue;
            }
            Node::Element(element) => element,
        };
        let led = element.attribute("href").map(str::to_owned);
        let is_said = led.as_deref().is_some_and(|href| links::is_said(href, &tree::words(&element.inner)));
        element.inner = fill(std::mem::take(&mut element.inner), words, address);
        let Some(led) = led.as_deref().map(with_braces) else {
            filled.push(Node::Element(element));
            continue;
        };
        match address(&led).and_then(|to| links::address(&to)) {
            Some(to) => {
                element.attributes = vec![("href", to)];
                filled.push(Node::Element(element));
            }
            None => {
                filled.append(&mut element.inner);
                if !is_said {
                    filled.push(text(&format!(" <{}>", links::readable(&led))));
                }
            }
        }
    }
    filled
}

/// In a path braces are written as numbers.
fn with_braces(address: &str) -> String {
    if address.contains("%7B%7B") {
        address.replace("%7B%7B", "{{").replace("%7D%7D", "}}")
    } else {
        address.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::clean::stored;
    use super::super::words::text;
    use super::*;

    fn with(html: &str, value: &str) -> String {
        let put = |words: &str| words.replace("{{x}}", value);
        filled(html, put, |to| Some(put(to)).filter(|to| !to.contains("{{")))
    }

    #[test]
    fn what_is_put_in_is_text_whatever_it_says() {
        let html = "<div>Dear <b>{{x}}</b>,</div><ul><li>{{y}}</li></ul>";
        assert_eq!(with(html, "Ada"), "<div>Dear <b>Ada</b>,</div><ul><li>{{y}}</li></ul>");
        assert_eq!(
            with("<b>{{x}}</b>", "<img src=x onerror=1>&amp;\u{202e}</b><script>"),
            "<b>&lt;img src=x onerror=1&gt;&amp;amp;&lt;/b&gt;&lt;script&gt;</b>"
        );
        // The same form, cleaned or not.
        let filled = with(html, "</b><a href=\"https://evil.example/\">Ada</a>");
        assert_eq!(stored(&filled).as_deref(), Some(filled.as_str()));
    }

    #[test]
    fn a_link_leads_where_its_address_says_then_or_is_text() {
        let link =
            |href: &str, words: &str| stored(&format!("<b>!</b><a href=\"{href}\">{words}</a>")).unwrap();
        for (href, words, value, wanted) in [
            (
                "https://a.example/?n={{x}}",
                "here",
                "7",
                "<b>!</b><a href=\"https://a.example/?n=7\">here</a>",
            ),
            ("https://a.example/{{x}}/b", "here", "7", "<b>!</b><a href=\"https://a.example/7/b\">here</a>"),
            (
                "https://a.example/{{x}}",
                "https://a.example/{{x}}",
                "7",
                "<b>!</b><a href=\"https://a.example/7\">https://a.example/7</a>",
            ),
            ("https://a.example/?n={{y}}", "here", "7", "<b>!</b>here &lt;https://a.example/?n={{y}}&gt;"),
            ("https://a.example/{{y}}", "here", "7", "<b>!</b>here &lt;https://a.example/{{y}}&gt;"),
            ("https://a.example/{{y}}", "https://a.example/{{y}}", "7", "<b>!</b>https://a.example/{{y}}"),
            (
                "https://a.example/b?c=1&amp;d",
                "{{x}}",
                "7",
                "<b>!</b><a href=\"https://a.example/b?c=1&amp;d\">7</a>",
            ),
        ] {
            assert_eq!(with(&link(href, words), value), wanted, "{href}");
        }
        // Of a host that is none only the words stay.
        let odd = "<b>!</b><a href=\"https://{{x}}.example/\">here</a>";
        assert_eq!(text(&with(odd, "a b")), "!here <https://a b.example/>");
    }
}
