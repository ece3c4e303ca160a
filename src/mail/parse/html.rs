//! Turns an HTML body into text and collects its links. The HTML is first reduced to a few
//! block tags, well nested and of small depth, because a full parser can be made to work for
//! minutes on hostile nesting. Quoted history comes out behind "> ". Specification 2.4.

use std::panic::{AssertUnwindSafe, catch_unwind};

use html2text::config;
use html2text::render::TextDecorator;
use mail_parser::decoders::html::add_html_token;

use super::one_line;

/// Deeper blocks are laid out as if they stood at this depth.
const MAX_DEPTH: usize = 24;
const MAX_QUOTE_DEPTH: usize = 6;
/// Above these the layout engine is too slow; then tags are stripped instead.
const MAX_LAYOUT_TAGS: usize = 20_000;
const MAX_LAYOUT_BYTES: usize = 1024 * 1024;
/// So wide that nothing is wrapped.
const WIDTH: usize = 10_000_000;
const MAX_LINK_CHARS: usize = 2_000;
/// What Outlook's own text version has where its HTML has a ruler.
const RULER: &str = "________________________________";
const MAX_RULERS: usize = 100;

/// Their content is never text.
const SILENT: &[&str] = &["script", "style", "title", "template", "noembed", "object"];
const BLOCKS: &[&str] = &[
    "address", "article", "aside", "body", "center", "dd", "div", "dl", "dt", "fieldset", "figure", "footer",
    "form", "header", "main", "nav", "section", "table", "tbody", "tfoot", "thead", "tr",
];
const PARAGRAPHS: &[&str] = &["p", "h1", "h2", "h3", "h4", "h5", "h6"];
/// Classes and ids that programs put around what they quote.
const QUOTE_MARKS: &[&str] =
    &["gmail_quote", "yahoo_quoted", "protonmail_quote", "zmail_extra", "tutanota_quote"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub text: String,
    pub target: String,
}

/// HTML reduced to a few block tags, with its links.
pub(super) struct Html {
    slim: String,
    tags: usize,
    pub links: Vec<Link>,
}

/// What one mail may spend on layout; shared by all its HTML bodies.
pub(super) struct Budget {
    tags: usize,
    bytes: usize,
}

impl Budget {
    pub fn new() -> Budget {
        Budget { tags: MAX_LAYOUT_TAGS, bytes: MAX_LAYOUT_BYTES }
    }

    fn take(&mut self, tags: usize, bytes: usize) -> bool {
        let enough = tags <= self.tags && bytes <= self.bytes;
        if enough {
            self.tags -= tags;
            self.bytes -= bytes;
        }
        enough
    }
}

pub(super) fn read(html: &str, max_links: usize) -> Html {
    let mut slim = Slim::new(max_links);
    slim.read(html);
    Html { slim: slim.html, tags: slim.tags, links: slim.links }
}

impl Html {
    pub fn text(&self, budget: &mut Budget) -> String {
        let laid_out = if budget.take(self.tags, self.slim.len()) { lay_out(&self.slim) } else { None };
        collapse_blank_lines(&laid_out.unwrap_or_else(|| strip(&self.slim)))
    }
}

fn lay_out(slim: &str) -> Option<String> {
    // A bug in the layout engine must not cost us the mail.
    catch_unwind(AssertUnwindSafe(|| {
        config::with_decorator(Plain)
            .raw_mode(true)
            .link_footnotes(false)
            .allow_width_overflow()
            .string_from_read(slim.as_bytes(), WIDTH)
            .ok()
    }))
    .ok()
    .flatten()
}

/// Builds the reduced HTML in one pass over the bytes.
struct Slim {
    html: String,
    tags: usize,
    rulers: usize,
    open: Vec<(&'static str, &'static str)>,
    quote_depth: usize,
    links: Vec<Link>,
    max_links: usize,
    link: Option<Link>,
    /// A quote that never closes was seen; from then on quotes do not protect a `>`.
    quotes_broken: bool,
}

struct Tag<'h> {
    name: String,
    attributes: &'h str,
    is_end: bool,
}

impl Slim {
    fn new(max_links: usize) -> Slim {
        Slim {
            html: String::new(),
            tags: 0,
            rulers: 0,
            open: Vec::new(),
            quote_depth: 0,
            links: Vec::new(),
            max_links,
            link: None,
            quotes_broken: false,
        }
    }

    fn read(&mut self, html: &str) {
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            self.text(&rest[..at]);
            rest = &rest[at..];
            let next = rest.as_bytes().get(1).copied().unwrap_or(0);
            if rest.starts_with("<!--") {
                rest = after(rest, "-->");
            } else if next == b'!' || next == b'?' {
                rest = after(rest, ">");
            } else if next == b'/' || next.is_ascii_alphabetic() {
                let end = self.tag_end(rest);
                let tag = Tag::read(&rest[..end]);
                rest = &rest[end..];
                if !tag.is_end && SILENT.contains(&tag.name.as_str()) {
                    rest = after_end_of(rest, &tag.name);
                } else {
                    self.tag(&tag);
                }
            } else {
                self.text("<");
                rest = &rest[1..];
            }
        }
        self.text(rest);
        self.end_link();
        while let Some((_, closing)) = self.open.pop() {
            self.html.push_str(closing);
        }
    }

    fn text(&mut self, text: &str) {
        if text == "<" {
            self.html.push_str("&lt;");
        } else {
            self.html.push_str(text);
        }
        if let Some(link) = &mut self.link
            && link.text.len() < MAX_LINK_CHARS
        {
            link.text.extend(text.chars().take(MAX_LINK_CHARS));
        }
    }

    fn tag_end(&mut self, tag: &str) -> usize {
        if !self.quotes_broken {
            let mut quote = 0;
            let mut last = 0;
            for (at, &byte) in tag.as_bytes().iter().enumerate() {
                match byte {
                    b'>' if quote == 0 => return at + 1,
                    // Only a quote that opens a value quotes.
                    b'"' | b'\'' if quote == 0 && last == b'=' => quote = byte,
                    _ if byte == quote => quote = 0,
                    _ => {}
                }
                if !byte.is_ascii_whitespace() {
                    last = byte;
                }
            }
            self.quotes_broken = true;
        }
        tag.find('>').map_or(tag.len(), |at| at + 1)
    }

    fn tag(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        match name {
            "a" => {
                self.end_link();
                if !tag.is_end && self.links.len() < self.max_links {
                    self.start_link(tag);
                }
            }
            "br" => self.push("<br>"),
            "hr" => self.ruler(),
            "img" => {
                if let (Some(link), Some(alt)) = (&mut self.link, tag.attribute("alt")) {
                    link.text.push_str(alt);
                }
            }
            // Cells of one row stay on one line, so that a table of two columns reads well.
            "td" | "th" if !tag.is_end => self.html.push(' '),
            "pre" => self.block(tag, "pre", "<pre>", "</pre>"),
            "ul" => self.block(tag, "ul", "<ul>", "</ul>"),
            "ol" => self.block(tag, "ol", "<ol>", "</ol>"),
            "li" => {
                if !tag.is_end {
                    self.close_top(&["li", "p"]);
                }
                self.block(tag, "li", "<li>", "</li>");
            }
            "blockquote" if !tag.is_end && !tag.is_quote() => {
                self.block(tag, "blockquote", "<div>", "</div>");
            }
            "blockquote" => self.quote(tag, "blockquote"),
            "div" if !tag.is_end && tag.has_mark(&["yahoo_quoted"]) => self.quote(tag, "div"),
            _ if PARAGRAPHS.contains(&name) => self.block(tag, "p", "<p>", "</p>"),
            _ => {
                if let Some(block) = BLOCKS.iter().find(|b| **b == name) {
                    self.block(tag, block, "<div>", "</div>");
                }
            }
        }
    }

    fn ruler(&mut self) {
        self.close_top(&["p"]);
        if self.rulers == MAX_RULERS {
            return self.push("<br>");
        }
        self.rulers += 1;
        self.push("<div>");
        self.html.push_str(RULER);
        self.html.push_str("</div>");
    }

    fn quote(&mut self, tag: &Tag, name: &'static str) {
        if !tag.is_end && self.quote_depth < MAX_QUOTE_DEPTH && self.open.len() < MAX_DEPTH {
            self.quote_depth += 1;
            self.block(tag, name, "<blockquote>", "</blockquote>");
        } else {
            self.block(tag, name, "<div>", "</div>");
        }
    }

    fn block(&mut self, tag: &Tag, name: &'static str, opening: &'static str, closing: &'static str) {
        if tag.is_end {
            if let Some(at) = self.open.iter().rposition(|(open, _)| *open == name) {
                while self.open.len() > at {
                    self.close_last();
                }
            } else {
                self.push("<br>");
            }
            return;
        }
        self.close_top(&["p"]);
        if self.open.len() >= MAX_DEPTH {
            self.push("<br>");
            return;
        }
        self.push(opening);
        self.open.push((name, closing));
    }

    fn close_top(&mut self, names: &[&str]) {
        while self.open.last().is_some_and(|(open, _)| names.contains(open)) {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        if let Some((_, closing)) = self.open.pop() {
            if closing == "</blockquote>" {
                self.quote_depth -= 1;
            }
            self.html.push_str(closing);
        }
    }

    fn push(&mut self, tag: &str) {
        self.html.push_str(tag);
        self.tags += 1;
    }

    fn start_link(&mut self, tag: &Tag) {
        if let Some(target) = tag.attribute("href") {
            let target: String = target.chars().take(MAX_LINK_CHARS).collect();
            let target: String = entities(&target).chars().filter(|c| !c.is_control()).collect();
            self.link = Some(Link { text: String::new(), target: target.trim().to_owned() });
        }
    }

    fn end_link(&mut self) {
        if let Some(mut link) = self.link.take() {
            link.text = one_line(&entities(&link.text), MAX_LINK_CHARS);
            if !link.target.is_empty() {
                self.links.push(link);
            }
        }
    }
}

impl<'h> Tag<'h> {
    fn read(tag: &'h str) -> Tag<'h> {
        let inner = tag.trim_start_matches('<').trim_end_matches('>');
        let is_end = inner.starts_with('/');
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        let end = inner.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(end);
        Tag {
            // No tag we know is longer; a megabyte of name is not worth a copy.
            name: name.chars().take(16).collect::<String>().to_ascii_lowercase(),
            attributes,
            is_end,
        }
    }

    fn attribute(&self, wanted: &str) -> Option<&'h str> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
            let name = &rest[..end];
            rest = rest[end..].trim_start();
            let Some(value) = rest.strip_prefix('=') else {
                // Also steps over a lone sign, so that the loop always moves on.
                if name.is_empty() {
                    rest = rest.get(1..).unwrap_or("");
                }
                continue;
            };
            let value = value.trim_start();
            let (value, after) = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
                _ => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            };
            if name.eq_ignore_ascii_case(wanted) {
                return Some(value);
            }
            rest = after;
        }
    }

    /// A blockquote without any of these signs is only an indent, and an indent is the
    /// customer's own words.
    fn is_quote(&self) -> bool {
        self.attribute("type").is_some_and(|t| t.eq_ignore_ascii_case("cite"))
            || self.attribute("cite").is_some()
            || self.has_mark(QUOTE_MARKS)
            || self.attribute("style").is_some_and(|style| style.to_ascii_lowercase().contains("border-left"))
    }

    fn has_mark(&self, marks: &[&str]) -> bool {
        ["class", "id"]
            .iter()
            .filter_map(|name| self.attribute(name))
            .any(|value| value.split_whitespace().any(|word| marks.contains(&word)))
    }
}

fn after<'h>(html: &'h str, end: &str) -> &'h str {
    html.find(end).map_or("", |at| &html[at + end.len()..])
}

/// Steps over what is inside a silent element, and over its end tag.
fn after_end_of<'h>(html: &'h str, name: &str) -> &'h str {
    let mut rest = html;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        let is_end = rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if is_end {
            return after(rest, ">");
        }
    }
    ""
}

/// The plain way for what is too large to lay out.
fn strip(slim: &str) -> String {
    let mut text = String::with_capacity(slim.len());
    let mut quote_depth: usize = 0;
    let mut rest = slim;
    while let Some(at) = rest.find('<') {
        add_words(&mut text, &rest[..at]);
        rest = &rest[at..];
        let end = rest.find('>').map_or(rest.len(), |at| at + 1);
        match &rest[..end] {
            "<blockquote>" => quote_depth += 1,
            "</blockquote>" => quote_depth = quote_depth.saturating_sub(1),
            _ => {}
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
        for _ in 0..quote_depth {
            text.push_str("> ");
        }
        rest = &rest[end..];
    }
    add_words(&mut text, rest);
    text
}

fn add_words(text: &mut String, html: &str) {
    for word in html.split_ascii_whitespace() {
        text.push_str(&entities(word));
        text.push(' ');
    }
}

fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name_end = rest
            .bytes()
            .take(32)
            .skip(1)
            .position(|b| !(b.is_ascii_alphanumeric() || b == b'#'))
            .map(|at| at + 1);
        match name_end {
            Some(end) if rest.as_bytes()[end] == b';' => {
                add_html_token(&mut out, &rest.as_bytes()[..=end], false);
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Layout tables leave many empty lines; two in a row say no more than one.
fn collapse_blank_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() && blank {
            continue;
        }
        blank = line.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Says nothing about links, emphasis or images; only quotes and lists keep their sign.
#[derive(Clone)]
struct Plain;

impl TextDecorator for Plain {
    type Annotation = ();

    fn decorate_link_start(&mut self, _: &str) -> (String, ()) {
        Default::default()
    }
    fn decorate_link_end(&mut self) -> String {
        String::new()
    }
    fn decorate_em_start(&self) -> (String, ()) {
        Default::default()
    }
    fn decorate_em_end(&self) -> String {
        String::new()
    }
    fn decorate_strong_start(&self) -> (String, ()) {
        Default::default()
    }
    fn decorate_strong_end(&self) -> String {
        String::new()
    }
    fn decorate_strikeout_start(&self) -> (String, ()) {
        Default::default()
    }
    fn decorate_strikeout_end(&self) -> String {
        String::new()
    }
    fn decorate_code_start(&self) -> (String, ()) {
        Default::default()
    }
    fn decorate_code_end(&self) -> String {
        String::new()
    }
    fn decorate_preformat_first(&self) {}
    fn decorate_preformat_cont(&self) {}
    fn decorate_image(&mut self, _: &str, _: &str) -> (String, ()) {
        Default::default()
    }
    fn header_prefix(&self, _: usize) -> String {
        String::new()
    }
    fn quote_prefix(&self) -> String {
        "> ".to_owned()
    }
    fn unordered_item_prefix(&self) -> String {
        "- ".to_owned()
    }
    fn ordered_item_prefix(&self, number: i64) -> String {
        format!("{number}. ")
    }
    fn make_subblock_decorator(&self) -> Self {
        Plain
    }
}
