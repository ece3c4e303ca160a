//! What a browser's editor sent, in the form that is kept. Anybody can send it, so nothing is believed: `bound` holds it to a
//! size, a list decides what may stay, and it is cleaned until cleaning changes nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use super::links;
use super::pictures;
use super::tree::{self, ATTRIBUTES, ELEMENTS, Node};
use crate::html::bound::bounded;

/// More is not kept.
const MAX_BYTES: usize = 200 * 1024;
/// A parser may make another tree each time of elements that end in odd places. Such HTML is not kept.
const MAX_PASSES: usize = 4;

/// Elements that others write for ours.
const RENAMED: &[(&str, &str)] = &[
    ("address", "div"),
    ("article", "div"),
    ("center", "div"),
    ("dd", "div"),
    ("dt", "div"),
    ("em", "i"),
    ("footer", "div"),
    ("h1", "div"),
    ("h2", "div"),
    ("h3", "div"),
    ("h4", "div"),
    ("h5", "div"),
    ("h6", "div"),
    ("header", "div"),
    ("ins", "u"),
    ("p", "div"),
    ("section", "div"),
    ("strong", "b"),
    ("tfoot", "tbody"),
    ("thead", "tbody"),
];
/// Elements that go with all that is in them. `bound` has left them out already; this is the second lock. A summary is
/// what it writes itself, over what is quoted.
const SILENT: &[&str] = &[
    "applet", "audio", "canvas", "embed", "frameset", "head", "iframe", "math", "noembed", "noframes",
    "object", "script", "select", "style", "summary", "svg", "template", "textarea", "title", "video", "xmp",
];
const DIRECTIONS: &[&str] = &["auto", "ltr", "rtl"];
/// Elements that change how words look. Without words they are nothing.
const INLINE: &[&str] = &["b", "code", "i", "u"];

static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| ELEMENTS.iter().copied().chain(RENAMED.iter().map(|(name, _)| *name)).collect());
static RULES: LazyLock<Builder<'static>> = LazyLock::new(rules);

/// The form that is kept, empty if it says no more than its text; none if it is too much to keep. What it has made stays the same
/// when it is handed in again.
pub fn stored(html: &str) -> Option<String> {
    let mut form = tree::write(&cleaned(html)?);
    for _ in 0..MAX_PASSES {
        let nodes = cleaned(&form)?;
        let again = tree::write(&nodes);
        if again == form {
            return Some(if is_plain(&nodes) { String::new() } else { form });
        }
        form = again;
    }
    None
}

fn rules() -> Builder<'static> {
    let attributes: HashMap<&str, HashSet<&str>> =
        ATTRIBUTES.iter().map(|(element, names)| (*element, names.iter().copied().collect())).collect();
    let mut builder = Builder::empty();
    builder
        .tags(ELEMENTS.iter().copied().collect())
        .clean_content_tags(SILENT.iter().copied().collect())
        .generic_attributes(HashSet::new())
        .tag_attributes(attributes)
        .url_schemes(HashSet::from(["cid", "http", "https", "mailto", "tel"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(None)
        .attribute_filter(kept)
        .strip_comments(true);
    builder
}

/// What an attribute becomes.
fn kept<'v>(element: &str, attribute: &str, value: &'v str) -> Option<Cow<'v, str>> {
    match (element, attribute) {
        ("a", "href") => links::address(value).map(Cow::Owned),
        (_, "dir") => {
            let known = DIRECTIONS.iter().copied().find(|known| known.eq_ignore_ascii_case(value));
            known.map(Cow::Borrowed)
        }
        (_, "start") => number(value, 0..=99_999),
        ("img", "src") => pictures::source(value),
        ("img", "alt") => pictures::alt(value),
        ("img", "height" | "width") => number(value, 1..=4_000),
        _ => None,
    }
}

fn number(value: &str, range: RangeInclusive<u32>) -> Option<Cow<'static, str>> {
    let number: u32 = value.trim().parse().ok()?;
    range.contains(&number).then(|| Cow::Owned(number.to_string()))
}

fn cleaned(html: &str) -> Option<Vec<Node>> {
    if html.len() > MAX_BYTES {
        return None;
    }
    let safe = RULES.clean(&renamed(&bounded(html, &NAMES))).to_string();
    if safe.len() > MAX_BYTES {
        return None;
    }
    let mut nodes = tidied(tree::read(&safe), false);
    while nodes.last().is_some_and(is_blank) {
        nodes.pop();
    }
    Some(nodes)
}

/// With our names for elements. `bound` has escaped all other brackets.
fn renamed(bounded: &str) -> String {
    let mut html = String::with_capacity(bounded.len() + 64);
    let mut pieces = bounded.split('<');
    html.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end_tag = piece.strip_prefix('/');
        let tag = end_tag.unwrap_or(piece);
        let (name, rest) = tag.split_at(tag.find([' ', '>']).unwrap_or(tag.len()));
        let own = RENAMED.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| *own);
        html.push_str(if end_tag.is_some() { "</" } else { "<" });
        html.push_str(own);
        match rest.split_once('>') {
            // The parser takes a line break away that begins it, and writes none.
            Some((attributes, text)) if own == "pre" && end_tag.is_none() => {
                html.push_str(attributes);
                html.push_str(">\n");
                html.push_str(text);
            }
            _ => html.push_str(rest),
        }
    }
    html
}

/// Without links that lead nowhere, links within links, pictures of no file, and formatting of no words.
fn tidied(nodes: Vec<Node>, in_link: bool) -> Vec<Node> {
    let mut tidy = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Text(text) => tidy.push(Node::Text(text)),
            Node::Element(mut element) if element.name == "img" => {
                if pictures::complete(&mut element) {
                    tidy.push(Node::Element(element));
                }
            }
            Node::Element(mut element) => {
                let leads = element.name == "a" && !in_link && element.attribute("href").is_some();
                element.inner = tidied(std::mem::take(&mut element.inner), in_link || leads);
                let may_stay = match element.name {
                    "a" => leads && says(&element.inner),
                    name => !INLINE.contains(&name) || says(&element.inner),
                };
                if may_stay {
                    tidy.push(Node::Element(element));
                } else {
                    tidy.append(&mut element.inner);
                }
            }
        }
    }
    tidy
}

fn says(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Text(text) => text.contains(|letter: char| !letter.is_ascii_whitespace()),
        Node::Element(element) => matches!(element.name, "hr" | "img") || says(&element.inner),
    })
}

/// White space, or lines of nothing else.
fn is_blank(node: &Node) -> bool {
    match node {
        Node::Text(text) => text.trim().is_empty(),
        Node::Element(element) => {
            let is_line = matches!(element.name, "a" | "br" | "div") || INLINE.contains(&element.name);
            is_line && element.inner.iter().all(is_blank)
        }
    }
}

/// Nothing but lines, and links that mail of text has too.
fn is_plain(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Text(_) => true,
        Node::Element(element) => match element.name {
            "br" => true,
            "div" => element.attributes.is_empty() && is_plain(&element.inner),
            "a" => {
                let href = element.attribute("href").unwrap_or_default();
                is_plain(&element.inner) && links::is_text(href, &tree::words(&element.inner))
            }
            _ => false,
        },
    })
}
