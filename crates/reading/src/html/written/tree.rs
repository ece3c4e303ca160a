//! The tree of the stored form: a few elements with few attributes. Whatever else comes falls away as it is read, so that
//! nobody who walks the tree has to think of it, and what is written of it is always the same for the same tree.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use crate::html::bound::escape;

/// Nothing that changes what the words say and leaves no trace in their text: what is struck out, raised or lowered, or moved to
/// another column.
pub const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "code",
    "div",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "pre",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "u",
    "ul",
];
pub const ATTRIBUTES: &[(&str, &[&str])] = &[
    ("a", &["href"]),
    ("blockquote", &["dir"]),
    ("div", &["dir"]),
    ("img", &["alt", "height", "src", "width"]),
    ("li", &["dir"]),
    ("ol", &["dir", "start"]),
    ("pre", &["dir"]),
    ("table", &["dir"]),
    ("td", &["dir"]),
    ("th", &["dir"]),
    ("ul", &["dir"]),
];
const VOID: &[&str] = &["br", "hr", "img"];
/// Deeper elements are left out; their text stays.
const MAX_DEPTH: usize = 40;

#[derive(Debug)]
pub enum Node {
    Text(String),
    Element(Element),
}

#[derive(Debug)]
pub struct Element {
    pub name: &'static str,
    /// In the order of their names.
    pub attributes: Vec<(&'static str, String)>,
    pub inner: Vec<Node>,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Controls, signs that turn the order of letters around, and the sign that a file begins are left out.
pub fn is_kept(letter: char) -> bool {
    match letter {
        '\n' | '\t' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => false,
        other => !other.is_control(),
    }
}

/// All text in it, one after the other.
pub fn words(nodes: &[Node]) -> String {
    let mut words = String::new();
    add_words(nodes, &mut words);
    words
}

fn add_words(nodes: &[Node], words: &mut String) {
    for node in nodes {
        match node {
            Node::Text(text) => words.push_str(text),
            Node::Element(element) => add_words(&element.inner, words),
        }
    }
}

pub fn read(html: &str) -> Vec<Node> {
    let tokenizer = Tokenizer::new(Reader::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    // It stops where a page would run a script. There is none.
    while let html5ever::TokenizerResult::Script(()) = tokenizer.feed(&input) {}
    tokenizer.end();
    let mut reading = tokenizer.sink.reading.into_inner();
    reading.close_to(0);
    reading.nodes
}

#[derive(Default)]
struct Reader {
    reading: RefCell<Reading>,
}

#[derive(Default)]
struct Reading {
    nodes: Vec<Node>,
    open: Vec<Element>,
    /// Names of those that are left out for their depth and are still open.
    too_deep: Vec<&'static str>,
    /// A line break right behind the tag `<pre>` is not of the text.
    begins_pre: bool,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reading = self.reading.borrow_mut();
        match token {
            Token::CharacterTokens(text) => reading.text(&text),
            Token::TagToken(tag) => reading.tag(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Reading {
    fn text(&mut self, text: &str) {
        let begins_pre = std::mem::take(&mut self.begins_pre);
        let text = text.strip_prefix('\n').filter(|_| begins_pre).unwrap_or(text);
        let letters = text.chars().filter(|letter| is_kept(*letter));
        if let Some(Node::Text(last)) = self.inner().last_mut() {
            last.extend(letters);
            return;
        }
        let text: String = letters.collect();
        if !text.is_empty() {
            self.inner().push(Node::Text(text));
        }
    }

    fn tag(&mut self, tag: &Tag) {
        self.begins_pre = false;
        let written: &str = &tag.name;
        let Some(name) = ELEMENTS.iter().copied().find(|known| *known == written) else { return };
        if tag.kind == TagKind::EndTag {
            self.end(name);
        } else if VOID.contains(&name) {
            self.inner().push(Node::Element(element(name, tag)));
        } else if self.open.len() >= MAX_DEPTH {
            self.too_deep.push(name);
        } else {
            self.begins_pre = name == "pre";
            self.open.push(element(name, tag));
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(at) = self.too_deep.iter().rposition(|open| *open == name) {
            self.too_deep.truncate(at);
        } else if let Some(at) = self.open.iter().rposition(|open| open.name == name) {
            self.too_deep.clear();
            self.close_to(at);
        }
    }

    /// Closes elements until so many are open.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(element) = self.open.pop() else { return };
            self.inner().push(Node::Element(element));
        }
    }

    /// What is in the element that is open.
    fn inner(&mut self) -> &mut Vec<Node> {
        match self.open.last_mut() {
            Some(element) => &mut element.inner,
            None => &mut self.nodes,
        }
    }
}

fn element(name: &'static str, tag: &Tag) -> Element {
    let allowed =
        ATTRIBUTES.iter().filter(|(element, _)| *element == name).flat_map(|(_, names)| names.iter());
    let mut attributes = Vec::new();
    for known in allowed.copied() {
        let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == known);
        attributes.extend(found.map(|attribute| (known, String::from(&*attribute.value))));
    }
    Element { name, attributes, inner: Vec::new() }
}

pub fn write(nodes: &[Node]) -> String {
    let mut html = String::new();
    add(nodes, &mut html);
    html
}

fn add(nodes: &[Node], html: &mut String) {
    for node in nodes {
        match node {
            Node::Text(text) => escape(html, text, false),
            Node::Element(element) => add_element(element, html),
        }
    }
}

fn add_element(element: &Element, html: &mut String) {
    html.push('<');
    html.push_str(element.name);
    for (name, value) in &element.attributes {
        html.push(' ');
        html.push_str(name);
        html.push_str("=\"");
        escape(html, value, true);
        html.push('"');
    }
    html.push('>');
    if VOID.contains(&element.name) {
        return;
    }
    if element.name == "pre"
        && let Some(Node::Text(text)) = element.inner.first()
        && text.starts_with('\n')
    {
        html.push('\n');
    }
    add(&element.inner, html);
    html.push_str("</");
    html.push_str(element.name);
    html.push('>');
}
