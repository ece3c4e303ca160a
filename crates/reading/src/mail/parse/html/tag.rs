//! One HTML tag and its attributes, read leniently and in linear time, and the signs by which
//! a tag says that it holds quoted history. Specification 2.4.

/// Classes and ids that programs put around what they quote.
const QUOTE_MARKS: &[&str] =
    &["gmail_quote", "yahoo_quoted", "protonmail_quote", "blockquote_zmail", "tutanota_quote"];

pub(super) struct Tag<'h> {
    pub name: String,
    attributes: &'h str,
    pub is_end: bool,
}

impl<'h> Tag<'h> {
    pub fn read(tag: &'h str) -> Tag<'h> {
        let inner = tag.trim_start_matches('<').trim_end_matches('>');
        let is_end = inner.starts_with('/');
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        let end = inner.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(end);
        Tag {
            // No known tag is longer, and a name of a megabyte must not be copied.
            name: name.chars().take(16).collect::<String>().to_ascii_lowercase(),
            attributes,
            is_end,
        }
    }

    pub fn attribute(&self, wanted: &str) -> Option<&'h str> {
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
                // Skips a stray character, so that the loop always advances.
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

    /// A blockquote without any of these marks is only an indent, which is the customer's own text.
    pub fn is_quote(&self) -> bool {
        self.attribute("type").is_some_and(|t| t.eq_ignore_ascii_case("cite"))
            || self.attribute("cite").is_some()
            || self.has_mark(QUOTE_MARKS)
            || self.attribute("style").is_some_and(|style| style.to_ascii_lowercase().contains("border-left"))
    }

    /// A div that holds nothing but history, as Yahoo and GMX have it.
    pub fn is_quoting_div(&self) -> bool {
        let is_yahoo = || self.attribute("class").is_some_and(|class| class.ends_with("yahoo_quoted"));
        self.name == "div" && (self.attribute("name") == Some("quote") || is_yahoo())
    }

    fn has_mark(&self, marks: &[&str]) -> bool {
        ["class", "id"]
            .iter()
            .filter_map(|name| self.attribute(name))
            .any(|value| value.split_whitespace().any(|word| marks.contains(&word)))
    }
}
