//! The plain text of the stored form, as people type mail: lines as they are, `> ` for what is quoted, `- ` and `3. ` for lists,
//! the cells of a row in one line, and where a link leads behind words that do not say it.

use super::links;
use super::pictures;
use super::tree::{self, Element, Node};

const NO_BREAK_SPACE: char = '\u{a0}';

/// Nothing is blank at its ends, nor at the end of a line.
pub fn text(stored: &str) -> String {
    let mut lines = Lines::default();
    lines.nodes(&tree::read(stored));
    lines.end();
    lines.text.trim().to_owned()
}

#[derive(Default)]
struct Lines {
    text: String,
    /// The line that is being written; none where one has just ended.
    line: Option<String>,
    /// White space comes before the next word.
    space: bool,
    around: Vec<Around>,
    /// How many elements are open that keep white space, and how many rows whose cells share a line.
    kept: usize,
    joined: usize,
}

/// What begins every line in it.
enum Around {
    Quote,
    /// With its mark, until that is written.
    Item(Option<String>),
}

impl Lines {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Text(text) => self.words(text),
            Node::Element(element) => self.element(element),
        }
    }

    fn element(&mut self, element: &Element) {
        match element.name {
            "a" => self.link(element),
            "br" => self.end_even_empty(),
            "img" => self.push(&pictures::words(element)),
            "hr" => {
                self.end();
                self.push("---");
                self.end();
            }
            // The lines of a cell are one.
            "blockquote" if self.joined > 0 => {
                self.end();
                self.words("> ");
                self.nodes(&element.inner);
                self.end();
            }
            "blockquote" => {
                self.end();
                self.around.push(Around::Quote);
                self.nodes(&element.inner);
                self.end();
                self.around.pop();
            }
            "ol" | "ul" => self.list(element),
            "li" => self.item(element, "- ".to_owned()),
            "pre" => {
                self.end();
                self.kept += 1;
                self.nodes(&element.inner);
                self.end();
                self.kept -= 1;
            }
            "tr" => self.row(element),
            "div" | "table" | "tbody" | "td" | "th" => {
                self.end();
                self.nodes(&element.inner);
                self.end();
            }
            _ => self.nodes(&element.inner),
        }
    }

    fn link(&mut self, link: &Element) {
        self.nodes(&link.inner);
        let href = link.attribute("href").unwrap_or_default();
        if !href.is_empty() && !links::is_said(href, &tree::words(&link.inner)) {
            let space_follows = self.space;
            self.gap();
            self.push(&format!("<{}>", links::readable(href)));
            self.space = space_follows;
        }
    }

    fn list(&mut self, list: &Element) {
        self.end();
        let start: u32 = list.attribute("start").and_then(|start| start.parse().ok()).unwrap_or(1);
        let mut numbers = u64::from(start)..;
        for node in &list.inner {
            match node {
                Node::Element(item) if item.name == "li" => {
                    let number = numbers.next().filter(|_| list.name == "ol");
                    self.item(item, number.map_or("- ".to_owned(), |number| format!("{number}. ")));
                }
                // Some editors write a list within a list between the items.
                Node::Element(inner) if matches!(inner.name, "ol" | "ul") => {
                    self.around.push(Around::Item(None));
                    self.list(inner);
                    self.around.pop();
                }
                other => self.node(other),
            }
        }
        self.end();
    }

    fn item(&mut self, item: &Element, mark: String) {
        self.end();
        if self.joined > 0 {
            self.words(&mark);
            self.nodes(&item.inner);
            self.end();
            return;
        }
        self.around.push(Around::Item(Some(mark)));
        self.nodes(&item.inner);
        if matches!(self.around.last(), Some(Around::Item(Some(_)))) {
            self.end_even_empty();
        } else {
            self.end();
        }
        self.around.pop();
    }

    fn row(&mut self, row: &Element) {
        let is_cell = |node: &&Node| matches!(node, Node::Element(cell) if matches!(cell.name, "td" | "th"));
        self.end();
        // One cell alone lays words out, and its lines stay.
        if row.inner.iter().filter(is_cell).count() < 2 {
            self.nodes(&row.inner);
            self.end();
            return;
        }
        self.joined += 1;
        for (n, cell) in row.inner.iter().filter(is_cell).enumerate() {
            if n > 0 {
                self.space = false;
                self.push("\t");
            }
            self.node(cell);
        }
        self.space = false;
        self.joined -= 1;
        self.end();
    }

    fn words(&mut self, text: &str) {
        let keeps_space = self.kept > 0 && self.joined == 0;
        let is_gap = |letter: char| letter == '\n' || (!keeps_space && letter.is_ascii_whitespace());
        for (n, part) in text.split(is_gap).enumerate() {
            if n > 0 && keeps_space {
                self.end_even_empty();
            } else if n > 0 {
                self.gap();
            }
            if !part.is_empty() {
                self.push(&part.replace(NO_BREAK_SPACE, " "));
            }
        }
    }

    fn push(&mut self, text: &str) {
        let space = std::mem::take(&mut self.space);
        let line = self.line.get_or_insert_default();
        if space {
            line.push(' ');
        }
        line.push_str(text);
    }

    /// White space, which nobody sees where a line or a cell begins.
    fn gap(&mut self) {
        self.space = self.line.as_ref().is_some_and(|line| !line.ends_with('\t'));
    }

    /// The end of a block ends the line that was begun, if one was.
    fn end(&mut self) {
        if self.joined > 0 {
            self.gap();
        } else if self.line.is_some() {
            self.end_even_empty();
        }
    }

    fn end_even_empty(&mut self) {
        if self.joined > 0 {
            self.gap();
            return;
        }
        let mut line = String::new();
        for around in &mut self.around {
            match around {
                Around::Quote => line.push_str("> "),
                Around::Item(mark) => line.push_str(mark.take().as_deref().unwrap_or("  ")),
            }
        }
        line.push_str(self.line.take().as_deref().unwrap_or_default());
        self.text.push_str(line.trim_end());
        self.text.push('\n');
        self.space = false;
    }
}
