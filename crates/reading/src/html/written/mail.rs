//! The stored form as others see it. As it leaves in a mail: a style at every element that needs one, as mail programs read no
//! other, and no colour of text or ground, so that it is readable in the dark too. On a page of ours, whose style sheet does that.

use super::tree::{self, Element, Node};

const BODY: &str = "font-family:Arial,Helvetica,sans-serif;font-size:14px;line-height:1.5";
/// Each finds its own direction if it has none.
const BLOCKS: &[&str] = &["blockquote", "div", "ol", "pre", "table", "ul"];

pub fn for_mail(stored: &str) -> String {
    let mut nodes = directed(stored);
    for node in &mut nodes {
        if let Node::Element(element) = node {
            dress(element, false);
        }
    }
    format!("<div dir=\"auto\" style=\"{BODY}\">{}</div>", tree::write(&nodes))
}

/// Its links open apart, and who has no mouse can scroll a wide table.
pub fn for_page(stored: &str) -> String {
    let mut nodes = directed(stored);
    let all = &mut |element: &mut Element| match element.name {
        "a" => {
            let apart = [("rel", "noopener noreferrer"), ("target", "_blank")];
            element.attributes.extend(apart.map(|(name, value)| (name, value.to_owned())));
        }
        "table" => element.attributes.push(("tabindex", "0".to_owned())),
        _ => {}
    };
    change(&mut nodes, all);
    tree::write(&nodes)
}

fn directed(stored: &str) -> Vec<Node> {
    let mut nodes = tree::read(stored);
    for node in &mut nodes {
        if let Node::Element(element) = node
            && BLOCKS.contains(&element.name)
            && element.attribute("dir").is_none()
        {
            element.attributes.push(("dir", "auto".to_owned()));
        }
    }
    nodes
}

fn change(nodes: &mut [Node], act: &mut impl FnMut(&mut Element)) {
    for node in nodes {
        if let Node::Element(element) = node {
            act(element);
            change(&mut element.inner, act);
        }
    }
}

fn dress(element: &mut Element, around_is_rtl: bool) {
    let is_rtl = match element.attribute("dir") {
        Some("auto") => first_letter(&element.inner).is_some_and(is_rtl_letter),
        Some(direction) => direction == "rtl",
        None => around_is_rtl,
    };
    if let Some(style) = style(element.name, is_rtl) {
        element.attributes.push(("style", style.to_owned()));
    }
    for node in &mut element.inner {
        if let Node::Element(inner) = node {
            dress(inner, is_rtl);
        }
    }
}

fn style(name: &str, is_rtl: bool) -> Option<&'static str> {
    Some(match name {
        // Word's engine, in which Outlook shows mail, ignores a list's margin.
        "ol" | "ul" if is_rtl => "margin:0;padding:0 24px 0 0",
        "ol" | "ul" => "margin:0;padding:0 0 0 24px",
        "blockquote" if is_rtl => "margin:0 8px 0 0;padding:0 12px 0 0;border-right:2px solid #8a8f98",
        "blockquote" => "margin:0 0 0 8px;padding:0 0 0 12px;border-left:2px solid #8a8f98",
        "code" => "font-family:Consolas,Menlo,monospace",
        // Outlook goes by the attributes alone.
        "img" => "max-width:100%;height:auto",
        "hr" => "margin:8px 0;border:0;border-top:1px solid #8a8f98",
        "pre" => "margin:0;font-family:Consolas,Menlo,monospace;white-space:pre-wrap",
        "table" => "border-collapse:collapse",
        "td" | "th" => "border:1px solid #8a8f98;padding:4px 8px",
        _ => return None,
    })
}

fn first_letter(nodes: &[Node]) -> Option<char> {
    nodes.iter().find_map(|node| match node {
        Node::Text(text) => text.chars().find(|letter| letter.is_alphabetic()),
        Node::Element(element) => first_letter(&element.inner),
    })
}

/// Hebrew, Arabic and their neighbours.
fn is_rtl_letter(letter: char) -> bool {
    matches!(letter,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::style::filtered;

    #[test]
    fn every_line_finds_its_direction_and_every_element_has_its_style() {
        let body = |inner: &str| format!("<div dir=\"auto\" style=\"{BODY}\">{inner}</div>");
        for (stored, wanted) in [
            (
                "<div>Hi <b>Ada</b>, <a href=\"https://a.example/?a=1&amp;b=2\">see</a></div><div dir=\"rtl\">x</div>",
                "<div dir=\"auto\">Hi <b>Ada</b>, <a href=\"https://a.example/?a=1&amp;b=2\">see</a></div>\
                 <div dir=\"rtl\">x</div>",
            ),
            (
                "<ol start=\"3\"><li>x</li></ol><ul><li>שלום</li></ul>",
                "<ol start=\"3\" dir=\"auto\" style=\"margin:0;padding:0 0 0 24px\"><li>x</li></ol>\
                 <ul dir=\"auto\" style=\"margin:0;padding:0 24px 0 0\"><li>שלום</li></ul>",
            ),
            (
                "<pre>\n\nx</pre>",
                "<pre dir=\"auto\" style=\"margin:0;font-family:Consolas,Menlo,monospace;white-space:pre-wrap\">\n\nx</pre>",
            ),
            ("<script>x</script><p onclick=\"x\">y</p>", "xy"),
        ] {
            assert_eq!(for_mail(stored), body(wanted));
        }
        let quoted = for_mail("<blockquote dir=\"rtl\">x<blockquote dir=\"ltr\">y</blockquote></blockquote>");
        assert!(quoted.contains("border-right") && quoted.contains("border-left"), "{quoted}");
    }

    #[test]
    fn on_a_page_links_open_apart_and_there_is_no_style() {
        assert_eq!(
            for_page("<div><a href=\"https://a.example/\"><b>x</b></a></div><ul><li>y</li></ul>"),
            "<div dir=\"auto\"><a href=\"https://a.example/\" rel=\"noopener noreferrer\" target=\"_blank\"><b>x</b></a></div>\
             <ul dir=\"auto\"><li>y</li></ul>"
        );
        let table = for_page("<table><tbody><tr><td>x</td></tr></tbody></table>");
        assert!(table.starts_with("<table dir=\"auto\" tabindex=\"0\">"), "{table}");
    }

    /// Our own page shows it by the rules for all mail.
    #[test]
    fn every_style_is_one_that_mail_may_have() {
        let named = tree::ELEMENTS.iter().flat_map(|name| [style(name, false), style(name, true)]);
        let styles: Vec<&str> = named.flatten().chain([BODY]).collect();
        assert!(styles.len() > 9);
        for style in styles {
            assert_eq!(filtered(style), format!("{style};"));
        }
    }
}
