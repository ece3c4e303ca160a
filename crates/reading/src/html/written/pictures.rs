//! Pictures in the stored form. Each is named by the id of its file, `cid:…`; whoever shows the form or sends it puts the address
//! there that its reader has. Its description is in the text, so a picture never says what the text does not.

use std::borrow::Cow;

use super::tree::{self, Element, Node};

const SCHEME: &str = "cid:";
/// Letters of an id.
const MAX_ID: usize = 40;
/// Letters of a description.
const MAX_ALT: usize = 200;
/// What a picture is called that nobody described.
const UNNAMED: &str = "picture";

/// The files that the form shows, in its order.
pub fn pictures(stored: &str) -> Vec<String> {
    let mut found = Vec::new();
    if stored.contains("<img") {
        add_pictures(&tree::read(stored), &mut found);
    }
    found
}

fn add_pictures(nodes: &[Node], found: &mut Vec<String>) {
    for node in nodes {
        if let Node::Element(element) = node {
            found.extend(file(element).map(str::to_owned));
            add_pictures(&element.inner, found);
        }
    }
}

/// The same with its pictures elsewhere: `source` has the whole address of a file. One without an address becomes the words that
/// stand for it, so the text stays the same.
pub fn with_pictures(stored: &str, source: impl Fn(&str) -> Option<String>) -> String {
    if !stored.contains("<img") {
        return stored.to_owned();
    }
    let mut nodes = tree::read(stored);
    place(&mut nodes, &source);
    tree::write(&nodes)
}

fn place(nodes: &mut [Node], source: &impl Fn(&str) -> Option<String>) {
    for node in nodes {
        let Node::Element(element) = node else { continue };
        if element.name != "img" {
            place(&mut element.inner, source);
            continue;
        }
        let address = file(element).and_then(source);
        let own = element.attributes.iter_mut().find(|(name, _)| *name == "src");
        match (own, address) {
            (Some((_, own)), Some(address)) => *own = address,
            _ => *node = Node::Text(words(element)),
        }
    }
}

/// What stands for it in the text.
pub(super) fn words(picture: &Element) -> String {
    format!("[{}]", picture.attribute("alt").unwrap_or(UNNAMED))
}

/// Whether it names a file. Every picture that does has a description.
pub(super) fn complete(picture: &mut Element) -> bool {
    if file(picture).is_none() {
        return false;
    }
    if picture.attribute("alt").is_none() {
        picture.attributes.insert(0, ("alt", UNNAMED.to_owned()));
    }
    true
}

fn file(picture: &Element) -> Option<&str> {
    picture.attribute("src").filter(|_| picture.name == "img")?.strip_prefix(SCHEME)
}

/// The address of a file, as it is kept.
pub(super) fn source(value: &str) -> Option<Cow<'_, str>> {
    let id = value.strip_prefix(SCHEME)?;
    let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    ((1..=MAX_ID).contains(&id.len()) && id.bytes().all(is_id)).then_some(Cow::Borrowed(value))
}

/// A description in one line, without a blank at its ends.
pub(super) fn alt(value: &str) -> Option<Cow<'static, str>> {
    let kept: String = value.chars().filter(|letter| tree::is_kept(*letter)).collect();
    let line = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(MAX_ALT).collect();
    Some(short.trim_end().to_owned()).filter(|short| !short.is_empty()).map(Cow::Owned)
}
