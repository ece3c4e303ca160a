//! Converts reduced HTML to text with a layout engine. HTML that is too large for it, or makes it panic, only has
//! its tags stripped, so that no mail is lost. Specification 2.4.

use std::panic::{AssertUnwindSafe, catch_unwind};

use html2text::config;
use html2text::render::TextDecorator;

use super::entities::entities;
use super::slim::Html;

/// Above these the layout engine is too slow; then tags are stripped instead.
const MAX_LAYOUT_TAGS: usize = 20_000;
const MAX_LAYOUT_BYTES: usize = 1024 * 1024;
/// So wide that nothing is wrapped.
const WIDTH: usize = 10_000_000;

/// Layout budget of one mail, shared by all its HTML bodies.
pub struct Budget {
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

/// Strips tags; for HTML that is not laid out.
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

/// Drops the marks of links, emphasis and images; keeps those of quotes and lists.
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
