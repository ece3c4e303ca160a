//! A page of Markdown as HTML: headings one can link to, code one can copy, tables that scroll, links that lead to where
//! the site has the page. What looks like HTML in a page is text: our pages have none.

use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use crate::assets;
use rookery_web::show::filters::drawn;

/// A page, read.
pub struct ParsedPage {
    pub title: String,
    /// Its first paragraph, as one line.
    pub about: String,
    pub html: String,
    pub headings: Vec<Heading>,
    pub parts: Vec<PagePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    pub level: u8,
    pub id: String,
    pub title: String,
}

/// What stands under a heading, for the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePart {
    /// Empty for what stands before the first heading below the title.
    pub id: String,
    pub title: String,
    pub text: String,
}

/// Where a link of a page leads on the site.
pub type Lead<'l> = &'l dyn Fn(&str) -> String;

pub fn read(text: &str, lead: Lead<'_>) -> ParsedPage {
    let mut page = ParsedPage {
        title: String::new(),
        about: String::new(),
        html: String::new(),
        headings: Vec::new(),
        parts: vec![PagePart { id: String::new(), title: String::new(), text: String::new() }],
    };
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut shown: Vec<Event<'_>> = Vec::with_capacity(events.len());
    let mut codes = 0;
    let mut at = 0;
    while at < events.len() {
        let event = events[at].clone();
        at += 1;
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let title = text_of(&events[at..], TagEnd::Heading(level));
                let id = page.add_heading(level as u8, title);
                shown.push(Event::Start(Tag::Heading {
                    level,
                    id: Some(id.into()),
                    classes: Vec::new(),
                    attrs: Vec::new(),
                }));
                continue;
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let code = text_of(&events[at..], TagEnd::CodeBlock);
                at += events[at..]
                    .iter()
                    .position(|event| *event == Event::End(TagEnd::CodeBlock))
                    .unwrap_or(0)
                    + 1;
                codes += 1;
                page.say(&code);
                shown.push(Event::Html(code_box(&code, &language(&kind), codes).into()));
                continue;
            }
            Event::Start(Tag::Paragraph) if page.about.is_empty() => {
                page.about = text_of(&events[at..], TagEnd::Paragraph);
                shown.push(Event::Start(Tag::Paragraph));
                continue;
            }
            Event::Start(Tag::Table(columns)) => {
                shown.push(html_of(
                    "<div class=\"docs-table\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">",
                ));
                // Where a column stands would be written as a style, and no page has those.
                shown.push(Event::Start(Tag::Table(vec![Alignment::None; columns.len()])));
                continue;
            }
            Event::End(TagEnd::Table) => {
                shown.push(Event::End(TagEnd::Table));
                shown.push(html_of("</div>"));
                continue;
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = lead(&dest_url).into();
                shown.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                continue;
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                let words = text_of(&events[at..], TagEnd::Image);
                at += events[at..].iter().position(|event| *event == Event::End(TagEnd::Image)).unwrap_or(0)
                    + 1;
                let file = dest_url.rsplit('/').next().unwrap_or_default();
                let picture = format!(
                    "<img src=\"{}\" alt=\"{}\" loading=\"lazy\">",
                    assets::path(file),
                    escaped(&words)
                );
                shown.push(Event::InlineHtml(picture.into()));
                continue;
            }
            // The order matters: our own HTML was pushed above, and what comes here is a page's.
            Event::Html(words) | Event::InlineHtml(words) => {
                page.say(&words);
                shown.push(Event::Text(words));
                continue;
            }
            event => shown.push(event),
        }
        match shown.last() {
            Some(Event::Text(words) | Event::Code(words)) => {
                let words = words.clone();
                page.say(&words);
            }
            Some(Event::SoftBreak | Event::HardBreak | Event::End(_)) => page.say(" "),
            _ => {}
        }
    }
    html::push_html(&mut page.html, shown.into_iter());
    // A head without words names no column.
    page.html = page.html.replace("<th></th>", "<td></td>");
    page
}

impl ParsedPage {
    /// A heading begins a part, but for the title.
    fn add_heading(&mut self, level: u8, title: String) -> String {
        let plain = slug(&title);
        let same = self.headings.iter().filter(|own| slug(&own.title) == plain).count();
        let id = if same == 0 { plain } else { format!("{plain}-{same}") };
        if level == HeadingLevel::H1 as u8 && self.title.is_empty() {
            self.title.clone_from(&title);
            self.parts[0].title.clone_from(&title);
        } else {
            self.parts.push(PagePart { id: id.clone(), title: title.clone(), text: String::new() });
        }
        self.headings.push(Heading { level, id: id.clone(), title });
        id
    }

    fn say(&mut self, words: &str) {
        if let Some(part) = self.parts.last_mut()
            && (words != " " || !part.text.ends_with(' '))
        {
            part.text.push_str(words);
        }
    }
}

/// The words up to an end, without their markup.
fn text_of(events: &[Event<'_>], end: TagEnd) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::End(found) if *found == end => break,
            Event::Text(words) | Event::Code(words) | Event::Html(words) | Event::InlineHtml(words) => {
                text.push_str(words);
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

fn html_of(words: &'static str) -> Event<'static> {
    Event::Html(CowStr::Borrowed(words))
}

/// What a block is written in: the first word behind its fence.
fn language(kind: &CodeBlockKind<'_>) -> String {
    match kind {
        CodeBlockKind::Fenced(said) => said.split([' ', ',']).next().unwrap_or_default().to_owned(),
        CodeBlockKind::Indented => String::new(),
    }
}

/// A block of code with a button to copy it. The button shows itself only where it can do something.
pub fn code_box(code: &str, language: &str, number: usize) -> String {
    let code = escaped(code.trim_end_matches('\n'));
    let language = language.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let label = if language.is_empty() { "Example".to_owned() } else { format!("Example in {language}") };
    format!(
        "<div class=\"codebox docs-code\"><pre id=\"code-{number}\" tabindex=\"0\" aria-label=\"{label}\">{code}</pre>\
         <copy-text data-of=\"code-{number}\"><button class=\"btn btn--small\" type=\"button\">{}<span>Copy</span></button></copy-text></div>\n",
        drawn("copy", "icon")
    )
}

/// Text as it stands in HTML, also inside quotes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

/// A heading as the end of an address, as other viewers of Markdown make it: `## Two roles` is `#two-roles`.
pub fn slug(title: &str) -> String {
    let letters = title.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> ParsedPage {
        read(text, &|link| format!("/docs/{}", link.trim_end_matches(".md")))
    }

    #[test]
    fn headings_have_addresses_and_parts() {
        let read = page(
            "# The *title*\n\nFirst words\nof it.\n\n## Two roles\n\nText `code`.\n\n## Two roles\n\n### Next, then\n",
        );
        assert_eq!((read.title.as_str(), read.about.as_str()), ("The title", "First words of it."));
        let ids: Vec<_> = read.headings.iter().map(|heading| heading.id.as_str()).collect();
        assert_eq!(ids, ["the-title", "two-roles", "two-roles-1", "next-then"]);
        assert!(read.html.contains("<h2 id=\"two-roles\">Two roles</h2>"), "{}", read.html);
        let parts: Vec<_> = read.parts.iter().map(|part| (part.id.as_str(), part.text.trim())).collect();
        assert_eq!(parts[..2], [("", "The title First words of it."), ("two-roles", "Two roles Text code.")]);
    }

    #[test]
    fn code_is_escaped_and_can_be_copied() {
        let read = page("Text.\n\n```sh run\necho \"<b>\" && x\n```\n\n    indented <i>\n");
        assert!(read.html.contains("id=\"code-1\"") && read.html.contains("id=\"code-2\""), "{}", read.html);
        assert!(!read.html.contains("<b>") && !read.html.contains("<i>"), "{}", read.html);
        assert!(read.html.contains("Example in sh"));
    }

    #[test]
    fn what_looks_like_html_is_text() {
        let read = page("A <script>alert(1)</script> and a <region>.\n\n<div>\nblock\n</div>\n");
        assert!(!read.html.contains("<script") && !read.html.contains("<div>"), "{}", read.html);
        assert!(read.html.contains("&lt;region&gt;"));
    }

    #[test]
    fn a_table_has_no_style_of_its_own() {
        let read = page("| | b |\n|:--|--:|\n| 1 | 2 |\n");
        assert!(!read.html.contains("style=") && read.html.contains("<td>2</td>"), "{}", read.html);
        assert!(read.html.contains("<td></td><th>b</th>"), "{}", read.html);
    }

    #[test]
    fn links_lead_to_the_site() {
        let read = page("See [mail](mail.md).");
        assert!(read.html.contains("<a href=\"/docs/mail\">mail</a>"), "{}", read.html);
    }
}
