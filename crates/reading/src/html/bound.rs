//! Holds HTML to a size and a shape before it is parsed into a tree: well nested, so deep, so many elements. A tree builder
//! can be made to work for minutes, or to fill the memory, by nesting alone. What is written out again has no comments,
//! no declarations and no element whose content is code.
//!
//! This alone makes nothing safe: `sanitise` decides what may stay. It also finds the quoted history, while the names that
//! mail programs give it are still there.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Deeper elements are left out; their text stays.
const MAX_DEPTH: usize = 80;
/// Of these the parser opens all again in every block, so a block costs as many elements as are open.
const MAX_FORMATTING_DEPTH: usize = 12;
/// A long newsletter has some thousands. After so many only text is kept.
const MAX_ELEMENTS: usize = 20_000;
const MAX_ATTRIBUTES: usize = 24;
/// A longer attribute is left out. Addresses of images are the longest that anybody needs.
const MAX_ATTRIBUTE_BYTES: usize = 4 * 1024;
/// Letters of one piece of text that are written as `&amp;` and the like. For each of them html5ever looks for a bracket up
/// to the end of the piece (`write_escaped`), so many in a long one would take hours. A longer piece is cut in two by a
/// `<wbr>`, which nobody sees.
const MAX_ESCAPED: usize = 256;

const FORMATTING: &[&str] =
    &["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// Elements whose whole content goes.
const SILENT: &[&str] = &[
    "applet", "audio", "canvas", "embed", "frameset", "head", "iframe", "math", "noembed", "noframes",
    "object", "script", "select", "style", "svg", "template", "textarea", "title", "video", "xmp",
];
/// Elements that a tokenizer reads as text up to their end, in a tree builder's stead.
const RAW: &[(&str, RawKind)] = &[
    ("iframe", RawKind::Rawtext),
    ("noembed", RawKind::Rawtext),
    ("noframes", RawKind::Rawtext),
    ("script", RawKind::ScriptData),
    ("style", RawKind::Rawtext),
    ("textarea", RawKind::Rcdata),
    ("title", RawKind::Rcdata),
    ("xmp", RawKind::Rawtext),
];
const VOID: &[&str] = &["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "wbr"];

/// What programs call the element that holds what is answered.
const QUOTES: &[&str] =
    &["gmail_quote", "gmail_quote_container", "protonmail_quote", "yahoo_quoted", "zmail_extra"];
/// Outlook's heading of what is answered, which follows it up to the end of what both stand in.
const HEADING: &str = "divRplyFwdMsg";
const FOLD: (&str, &str) = ("<details><summary>Earlier text</summary>", "</details>");

/// The same HTML, bounded and well nested, with nothing that is not on `elements`. What is quoted at its end is folded.
pub fn bounded(html: &str, elements: &[&str]) -> String {
    let state = BoundState { html: String::with_capacity(html.len().min(1 << 20)), ..BoundState::default() };
    let sink = Bound { elements, state: RefCell::new(state) };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    // It stops where a page would run a script. There is none.
    while let html5ever::TokenizerResult::Script(()) = tokenizer.feed(&input) {}
    tokenizer.end();
    let mut state = tokenizer.sink.state.into_inner();
    state.close_to(0);
    state.folded()
}

struct Bound<'a> {
    elements: &'a [&'a str],
    state: RefCell<BoundState>,
}

#[derive(Default)]
struct BoundState {
    html: String,
    /// Names of the elements that are open in what is written.
    open: Vec<String>,
    formatting: usize,
    written: usize,
    /// Letters to escape since the last tag.
    escaped: usize,
    /// Inside of a silent element, and how many of its kind are open.
    silent: Option<(String, usize)>,
    /// Something was said or shown already.
    says: bool,
    quote: Option<Quote>,
}

/// A quote that may be folded: nothing is said behind it yet.
struct Quote {
    from: usize,
    /// Where it ends, once it has.
    to: Option<usize>,
    /// How many elements it stands in.
    depth: usize,
    /// It is all that follows there, not one element.
    is_rest: bool,
}

impl TokenSink for Bound<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.state.borrow_mut();
        match token {
            Token::CharacterTokens(text) if state.silent.is_none() => state.text(&text),
            Token::TagToken(tag) => return state.tag(&tag, self.elements),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl BoundState {
    fn tag(&mut self, tag: &Tag, elements: &[&str]) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        let starts = tag.kind == TagKind::StartTag;
        if let Some((silent, depth)) = &mut self.silent {
            if silent == name && starts && !tag.self_closing {
                *depth += 1;
            } else if silent == name && !starts {
                *depth -= 1;
                if *depth == 0 {
                    self.silent = None;
                }
            } else if silent == "head" && name == "body" {
                // A head that is not closed ends where the body begins.
                self.silent = None;
            }
            return match RAW.iter().find(|(raw, _)| *raw == name && starts) {
                Some((_, kind)) => TokenSinkResult::RawData(*kind),
                None => TokenSinkResult::Continue,
            };
        }
        if starts && SILENT.contains(&name) {
            // In HTML a slash does not end an element; in SVG and MathML, which are left out, it does.
            if !(tag.self_closing && matches!(name, "svg" | "math")) && name != "embed" {
                self.silent = Some((name.to_owned(), 1));
            }
            if let Some((_, kind)) = RAW.iter().find(|(raw, _)| *raw == name) {
                return TokenSinkResult::RawData(*kind);
            }
        } else if starts && name == "plaintext" {
            return TokenSinkResult::Plaintext;
        } else if starts && elements.contains(&name) {
            self.start(tag, name);
        } else if !starts {
            self.end(name);
        }
        TokenSinkResult::Continue
    }

    fn text(&mut self, text: &str) {
        if text.contains(|letter: char| !letter.is_whitespace()) {
            self.says = true;
            // An answer below or between: who reads it needs what it answers.
            self.quote.take_if(|quote| quote.to.is_some());
        }
        let escaped = |(_, letter): &(usize, char)| matches!(letter, '&' | '\u{80}'..='\u{bf}');
        let mut rest = 0;
        for (at, _) in text.char_indices().filter(escaped) {
            self.escaped += 1;
            if self.escaped > MAX_ESCAPED {
                escape(&mut self.html, &text[rest..at], false);
                self.html.push_str("<wbr>");
                (self.escaped, rest) = (1, at);
            }
        }
        escape(&mut self.html, &text[rest..], false);
    }

    fn start(&mut self, tag: &Tag, name: &str) {
        let formatting = FORMATTING.contains(&name);
        if self.written >= MAX_ELEMENTS
            || self.open.len() >= MAX_DEPTH
            || (formatting && self.formatting >= MAX_FORMATTING_DEPTH)
        {
            return;
        }
        self.written += 1;
        self.escaped = 0;
        self.note_quote(tag, name);
        self.says |= name == "img";
        self.html.push('<');
        self.html.push_str(name);
        let sound = tag.attrs.iter().filter(|attribute| attribute.value.len() <= MAX_ATTRIBUTE_BYTES);
        for attribute in sound.take(MAX_ATTRIBUTES) {
            let name: &str = &attribute.name.local;
            if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                self.html.push(' ');
                self.html.push_str(name);
                self.html.push_str("=\"");
                escape(&mut self.html, &attribute.value, true);
                self.html.push('"');
            }
        }
        self.html.push('>');
        if !VOID.contains(&name) {
            self.formatting += usize::from(formatting);
            self.open.push(name.to_owned());
        }
    }

    /// Closes the element and what is open in it. An end without a beginning is nothing; nor does one reach out of the
    /// table it stands in, as it would not in a browser.
    fn end(&mut self, name: &str) {
        let wall = self.open.iter().rposition(|open| open == "td" || open == "th").unwrap_or(0);
        let from =
            if matches!(name, "table" | "tr" | "td" | "th" | "tbody" | "thead" | "tfoot") { 0 } else { wall };
        if let Some(at) = self.open[from..].iter().rposition(|open| open == name) {
            self.close_to(from + at);
        }
    }

    /// A quote begins here, if something was said before it and it can be put into an element.
    fn note_quote(&mut self, tag: &Tag, name: &str) {
        let value = |wanted: &str| {
            let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == wanted);
            found.map_or("", |attribute| &*attribute.value)
        };
        let is_rest = name == "div" && value("id") == HEADING;
        let is_quote = match name {
            "div" | "blockquote" => {
                (name == "blockquote" && value("type").eq_ignore_ascii_case("cite"))
                    || value("class").split_ascii_whitespace().any(|class| QUOTES.contains(&class))
            }
            _ => false,
        };
        if !(is_quote || is_rest) || !self.says || self.quote.is_some() {
            return;
        }
        // Between the cells of a table nothing else can stand.
        let around = self.open.iter().rev().find(|open| {
            matches!(
                open.as_str(),
                "table" | "tbody" | "thead" | "tfoot" | "tr" | "td" | "th" | "colgroup" | "caption"
            )
        });
        if around.is_none_or(|open| open == "td" || open == "th") {
            self.quote = Some(Quote { from: self.html.len(), to: None, depth: self.open.len(), is_rest });
        }
    }

    /// Closes elements until so many are open.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(name) = self.open.pop() else { return };
            let index = self.open.len();
            let before = self.html.len();
            self.close(&name);
            let after = self.html.len();
            if let Some(quote) = self.quote.as_mut().filter(|quote| quote.to.is_none()) {
                if quote.is_rest && index < quote.depth {
                    quote.to = Some(before);
                } else if !quote.is_rest && index == quote.depth {
                    quote.to = Some(after);
                }
            }
        }
    }

    fn folded(self) -> String {
        let Some(quote) = self.quote else { return self.html };
        let (before, rest) = self.html.split_at(quote.from);
        let (quoted, after) = rest.split_at(quote.to.map_or(rest.len(), |to| to - quote.from));
        [before, FOLD.0, quoted, FOLD.1, after].concat()
    }

    fn close(&mut self, name: &str) {
        self.formatting -= usize::from(FORMATTING.contains(&name));
        self.escaped = 0;
        self.html.push_str("</");
        self.html.push_str(name);
        self.html.push('>');
    }
}

/// As a browser writes text and attributes out.
pub(super) fn escape(out: &mut String, text: &str, attribute: bool) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if attribute => out.push_str("&quot;"),
            '\u{a0}' => out.push_str("&nbsp;"),
            '\0' => {}
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: &[&str] = &["b", "br", "div", "img", "p", "table", "td", "tr"];

    #[test]
    fn text_with_very_much_to_escape_is_cut_and_loses_nothing() {
        let few = "a & b\u{a0}".repeat(MAX_ESCAPED / 2);
        assert!(!bounded(&few, FEW).contains("<wbr>"));
        let many = bounded(&"&amp;\u{a7}x".repeat(100_000), FEW);
        assert_eq!(many.replace("<wbr>", ""), "&amp;\u{a7}x".repeat(100_000));
        assert!(many.split("<wbr>").all(|piece| piece.matches(['&', '\u{a7}']).count() <= MAX_ESCAPED));
    }

    #[test]
    fn what_is_not_on_the_list_loses_its_tags_or_its_content() {
        for (html, wanted) in [
            ("a<b>b</b>c", "a<b>b</b>c"),
            ("<blink>x</blink>", "x"),
            ("<script>if (a<b) '</p>'</script>x", "x"),
            ("<SCRIPT\n>x</SCRIPT >y", "y"),
            ("<style>b{}</style>x<svg><b>y</b></svg>z<svg/>w", "xzw"),
            ("<math><mi><style></math><img src=x></style></math>x", "x"),
            ("<title><b></title>x", "x"),
            ("<head><b>a</b><body>x", "x"),
            ("<!-- <b> --><!doctype html>x<?php y ?>", "x"),
            ("<plaintext><b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
            ("<template><b>x</b></template>y", "y"),
            ("<noscript><b>x</b></noscript>", "<b>x</b>"),
            ("<embed src=x>y", "y"),
        ] {
            assert_eq!(bounded(html, FEW), wanted, "{html}");
        }
    }

    #[test]
    fn it_is_well_nested_whatever_comes() {
        for (html, wanted) in [
            ("<b><p>x", "<b><p>x</p></b>"),
            ("<b><p>x</b>y</p>", "<b><p>x</p></b>y"),
            ("</b>x</p>", "x"),
            ("<table><tr><td><b>x</table>y", "<table><tr><td><b>x</b></td></tr></table>y"),
            ("<div><table><tr><td></div>x", "<div><table><tr><td>x</td></tr></table></div>"),
            ("<br></br><img src=\"a'&quot;b\">", "<br><img src=\"a'&quot;b\">"),
        ] {
            assert_eq!(bounded(html, FEW), wanted, "{html}");
        }
    }

    #[test]
    fn what_is_quoted_at_the_end_is_folded_and_nothing_else() {
        let elements = &["blockquote", "b", "br", "div", "hr", "img", "p", "table", "td", "tr"];
        let (open, close) = FOLD;
        for (html, wanted) in [
            (
                "Yes.<blockquote type=cite>Do you?</blockquote><br>",
                format!("Yes.{open}<blockquote type=\"cite\">Do you?</blockquote>{close}<br>"),
            ),
            (
                "<div>Yes.<div class=\"x gmail_quote\">On Monday:<blockquote type=cite>Do you?</blockquote></div></div> \n",
                format!(
                    "<div>Yes.{open}<div class=\"x gmail_quote\">On Monday:<blockquote type=\"cite\">Do you?</blockquote></div>\
                     {close}</div> \n"
                ),
            ),
            (
                "<div><p>Yes.</p><hr><div id=divRplyFwdMsg>From: Kim</div><div>Do you?</div></div>",
                format!(
                    "<div><p>Yes.</p><hr>{open}<div id=\"divRplyFwdMsg\">From: Kim</div><div>Do you?</div>{close}</div>"
                ),
            ),
            (
                "Yes.<div id=divRplyFwdMsg>From: Kim</div>Do you?",
                format!("Yes.{open}<div id=\"divRplyFwdMsg\">From: Kim</div>Do you?{close}"),
            ),
            // Not closed.
            (
                "Yes.<blockquote type=cite>Do <b>you?",
                format!("Yes.{open}<blockquote type=\"cite\">Do <b>you?</b></blockquote>{close}"),
            ),
            // In a cell, and of several only the last.
            (
                "A<blockquote type=cite>B</blockquote>C<table><tr><td><blockquote type=cite>D</blockquote></table>",
                format!(
                    "A<blockquote type=\"cite\">B</blockquote>C<table><tr><td>{open}<blockquote type=\"cite\">D</blockquote>\
                     {close}</td></tr></table>"
                ),
            ),
        ] {
            assert_eq!(bounded(html, elements), wanted, "{html}");
        }
        for whole in [
            // All there is, an answer below it, one between, a quote of somebody else's words, a place where nothing can stand.
            "<blockquote type=cite>Do you?</blockquote>",
            "On Monday:<blockquote type=cite>Do you?</blockquote>Yes.",
            "<blockquote>As Goethe said</blockquote>",
            "So<blockquote>As Goethe said</blockquote>",
            "A<table><div class=gmail_quote>B</div></table>",
            "A</details><details open>B</details>",
        ] {
            assert!(!bounded(whole, elements).contains("<details"), "{whole}");
        }
    }

    #[test]
    fn depth_number_and_attributes_have_a_limit() {
        let deep = bounded(&format!("{}x", "<div>".repeat(100_000)), FEW);
        assert_eq!(deep.matches("<div>").count(), MAX_DEPTH);
        assert!(deep.contains('x'));
        let bold = bounded(&"<b>".repeat(1_000), FEW);
        assert_eq!(bold.matches("<b>").count(), MAX_FORMATTING_DEPTH);
        let many = bounded(&"<p>x</p>".repeat(100_000), FEW);
        assert_eq!(many.matches("<p>").count(), MAX_ELEMENTS);
        assert_eq!(many.matches('x').count(), 100_000, "text is kept");
        let long = bounded(&format!("<p title='{}' lang=de>x", "y".repeat(5 << 20)), FEW);
        assert_eq!(long, "<p lang=\"de\">x</p>");
        let attributes: String = (0..1_000).map(|n| format!(" a{n}=1")).collect();
        assert_eq!(bounded(&format!("<p{attributes}>"), FEW).matches("=\"1\"").count(), MAX_ATTRIBUTES);
    }
}
