//! Reduces HTML to a few block tags, well nested and of small depth, and collects its links, in one pass. A full
//! parser can be made to work for minutes on hostile nesting. Specification 2.4.

use super::entities::entities;
use super::tag::Tag;
use crate::mail::parse::line::one_line;

/// Deeper blocks are laid out as if they stood at this depth.
const MAX_DEPTH: usize = 24;
const MAX_QUOTE_DEPTH: usize = 6;
const MAX_LINK_CHARS: usize = 2_000;
/// How Outlook's plain text version shows a horizontal rule.
const RULER: &str = "________________________________";
const MAX_RULERS: usize = 100;

/// Elements whose content is never shown as text.
const SILENT: &[&str] = &["script", "style", "title", "template", "noembed", "object"];
const BLOCKS: &[&str] = &[
    "address", "article", "aside", "body", "center", "dd", "div", "dl", "dt", "fieldset", "figure", "footer",
    "form", "header", "main", "nav", "section", "table", "tbody", "tfoot", "thead", "tr",
];
const PARAGRAPHS: &[&str] = &["p", "h1", "h2", "h3", "h4", "h5", "h6"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlLink {
    pub text: String,
    pub target: String,
}

/// HTML reduced to a few block tags, with its links.
pub struct Html {
    pub slim: String,
    pub tags: usize,
    pub links: Vec<HtmlLink>,
    /// Table cells and pictures outside of quoted history: a mail with many is laid out, not just written.
    pub cells: usize,
    pub pictures: usize,
    pub has_remote_picture: bool,
}

pub fn read(html: &str, max_links: usize) -> Html {
    let mut slim = Slim::new(max_links);
    slim.read(html);
    Html {
        slim: slim.html,
        tags: slim.tags,
        links: slim.links,
        cells: slim.cells,
        pictures: slim.pictures,
        has_remote_picture: slim.has_remote_picture,
    }
}

/// Builds the reduced HTML in one pass over the bytes.
struct Slim {
    html: String,
    tags: usize,
    rulers: usize,
    open: Vec<(&'static str, &'static str)>,
    quote_depth: usize,
    links: Vec<HtmlLink>,
    max_links: usize,
    link: Option<HtmlLink>,
    /// An unclosed quote was seen; from then on quotes do not protect a `>`.
    quotes_broken: bool,
    cells: usize,
    pictures: usize,
    has_remote_picture: bool,
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
            cells: 0,
            pictures: 0,
            has_remote_picture: false,
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
                let source = tag.attribute("src").unwrap_or_default().trim_start();
                let starts =
                    |with: &str| source.get(..with.len()).is_some_and(|s| s.eq_ignore_ascii_case(with));
                self.has_remote_picture |= starts("http") || starts("//");
                self.pictures += usize::from(self.quote_depth == 0);
            }
            // Cells of one row stay on one line, so that a table of two columns reads well.
            "td" | "th" if !tag.is_end => {
                self.html.push(' ');
                self.cells += usize::from(self.quote_depth == 0);
            }
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
            "div" if !tag.is_end && tag.is_quoting_div() => self.quote(tag, "div"),
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
            self.link = Some(HtmlLink { text: String::new(), target: target.trim().to_owned() });
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
