//! Sorts the leaf parts of a mail into text and attachments. The text is the text/plain body, else the HTML body
//! converted to text; every other part is an attachment. Specification 2.4, 4.12.

use std::sync::Arc;

use bytes::Bytes;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;

use super::file_name;
use super::html::{self, Budget, Html, HtmlLink};
use super::line::is_deceptive;
use super::mime::{ParsedPart, parameter};
use crate::text;

/// Small inline images are logos and tracking dots, not documents.
const SMALL_IMAGE_BYTES: usize = 10 * 1024;
const MAX_LINKS: usize = 200;
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// HTML that is larger is not kept: its text is.
const MAX_HTML_BYTES: usize = 2 * 1024 * 1024;
/// From so many table cells or pictures on a mail is laid out. Signatures have fewer.
const MANY_CELLS: usize = 8;
const MANY_PICTURES: usize = 3;
/// A longer Content-ID is none.
const MAX_CONTENT_ID: usize = 250;

const SIGNATURE_TYPES: &[&str] =
    &["application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"];
const CALENDAR_TYPES: &[&str] = &["text/calendar", "application/ics"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MimeAttachment {
    pub filename: String,
    /// Lower-case type and subtype, no parameters.
    pub content_type: String,
    pub content: Bytes,
    pub inline: bool,
    /// By which the mail's HTML names it, without angle brackets.
    pub content_id: Option<String>,
}

/// The mail as HTML, as it came: nothing of it is safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlBody {
    pub source: Arc<str>,
    /// Laid out with tables or pictures, so that its text alone would lose something.
    pub laid_out: bool,
    pub has_remote_pictures: bool,
}

impl MimeAttachment {
    /// Whether this belongs in the library of documents.
    pub fn is_filed(&self) -> bool {
        let small_image =
            self.inline && self.content_type.starts_with("image/") && self.content.len() < SMALL_IMAGE_BYTES;
        let signature = SIGNATURE_TYPES.contains(&self.content_type.as_str())
            || self.filename.eq_ignore_ascii_case("smime.p7s");
        let calendar = CALENDAR_TYPES.contains(&self.content_type.as_str());
        !(small_image || signature || calendar)
    }
}

pub(super) struct Contents {
    pub text: String,
    pub html: Option<HtmlBody>,
    pub links: Vec<HtmlLink>,
    pub attachments: Vec<MimeAttachment>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Plain,
    Html,
    /// Another form of the same text that is not needed, such as AMP.
    Spare,
    File,
}

pub(super) fn sort(parts: &[ParsedPart]) -> Contents {
    let mut roles: Vec<Role> = parts.iter().map(role).collect();
    if !roles.iter().any(|r| matches!(r, Role::Plain | Role::Html)) {
        // Some programs give the only body a file name. Treat it as text.
        if let Some(at) = parts.iter().position(|p| text_role(p).is_some() && !is_attached(p)) {
            roles[at] = text_role(&parts[at]).unwrap_or(Role::Plain);
        }
    }
    let mut links = Vec::new();
    let mut bodies: Vec<Body> = Vec::new();
    let mut attachments = Vec::new();
    for (part, role) in parts.iter().zip(&roles) {
        match role {
            Role::Plain => {
                let text = clean_text(&decoded_text(part));
                if !text.is_empty() {
                    body_of(&mut bodies, part).plain.push(text);
                }
            }
            Role::Html => {
                let source = decoded_text(part);
                let mut html = html::read(&source, MAX_LINKS - links.len());
                links.append(&mut html.links);
                let body = body_of(&mut bodies, part);
                body.html.push(html);
                body.sources.push(source);
            }
            Role::Spare => {}
            Role::File => attachments.push(attachment(part)),
        }
    }
    let html = html_of(&bodies);
    let mut budget = Budget::new();
    let mut pieces: Vec<String> = bodies.into_iter().flat_map(|body| body.into_texts(&mut budget)).collect();
    let text = if pieces.len() == 1 { pieces.remove(0) } else { pieces.join("\n\n") };
    Contents { text: shortened(text, &mut attachments), html, links, attachments }
}

/// The pieces as one HTML, when at least one came as HTML and all together are not too large.
fn html_of(bodies: &[Body]) -> Option<HtmlBody> {
    let read = || bodies.iter().flat_map(|body| &body.html);
    read().next()?;
    let texts = bodies.iter().flat_map(|body| body.sources.iter().chain(&body.plain));
    if texts.map(String::len).sum::<usize>() > MAX_HTML_BYTES {
        return None;
    }
    let pieces: Vec<String> = bodies.iter().flat_map(Body::as_html).collect();
    let laid_out = read().map(|html| html.cells).sum::<usize>() >= MANY_CELLS
        || read().map(|html| html.pictures).sum::<usize>() >= MANY_PICTURES;
    Some(HtmlBody {
        source: pieces.join("<br><br>").replace('\0', "").into(),
        laid_out,
        has_remote_pictures: read().any(|html| html.has_remote_picture),
    })
}

/// A text of more than a megabyte is a log or a list. All of it becomes an attachment, and its beginning is the
/// text.
fn shortened(text: String, attachments: &mut Vec<MimeAttachment>) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text;
    }
    let beginning = text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned();
    attachments.push(MimeAttachment {
        content_id: None,
        filename: "message.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        content: text.into(),
        inline: false,
    });
    beginning
}

/// One piece of the text; a multipart/alternative is one piece in two forms.
struct Body {
    alternative: Option<usize>,
    plain: Vec<String>,
    html: Vec<Html>,
    /// Of each `html`, as it came.
    sources: Vec<String>,
}

impl Body {
    fn as_html(&self) -> Vec<String> {
        if !self.sources.is_empty() {
            return self.sources.clone();
        }
        let escaped = |text: &String| text.replace('&', "&amp;").replace('<', "&lt;").replace('\n', "<br>");
        self.plain.iter().map(escaped).collect()
    }

    /// HTML is converted only when there is no plain form, because that is expensive.
    fn into_texts(self, budget: &mut Budget) -> Vec<String> {
        if !self.plain.is_empty() {
            return self.plain;
        }
        let texts = self.html.iter().map(|html| clean_text(&html.text(budget)));
        texts.filter(|text| !text.is_empty()).collect()
    }
}

fn body_of<'b>(bodies: &'b mut Vec<Body>, part: &ParsedPart) -> &'b mut Body {
    let same_piece =
        bodies.last().is_some_and(|b| b.alternative.is_some() && b.alternative == part.alternative);
    if !same_piece {
        bodies.push(Body {
            alternative: part.alternative,
            plain: Vec::new(),
            html: Vec::new(),
            sources: Vec::new(),
        });
    }
    let last = bodies.len() - 1;
    &mut bodies[last]
}

fn role(part: &ParsedPart) -> Role {
    if is_attached(part) || (given_name(part).is_some() && !part.is_root) {
        return Role::File;
    }
    match text_role(part) {
        Some(role) => role,
        None if part.alternative.is_some()
            && ["text/x-amp-html", "text/watch-html", "text/enriched"].contains(&type_of(part).as_str()) =>
        {
            Role::Spare
        }
        None => Role::File,
    }
}

fn text_role(part: &ParsedPart) -> Option<Role> {
    match type_of(part).as_str() {
        "text/plain" => Some(Role::Plain),
        "text/html" => Some(Role::Html),
        // A multipart whose boundary is missing is shown as text.
        other if other.starts_with("multipart/") => Some(Role::Plain),
        _ => None,
    }
}

fn type_of(part: &ParsedPart) -> String {
    let Some(content_type) = &part.content_type else {
        return "text/plain".to_owned();
    };
    let main = content_type.c_type.trim().to_ascii_lowercase();
    let sub = content_type.c_subtype.as_deref().unwrap_or("");
    let sub = sub.trim().to_ascii_lowercase();
    let is_token = |s: &str| {
        !s.is_empty()
            && s.len() <= 100
            && s.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c))
    };
    match main.as_str() {
        "text" if sub.is_empty() => "text/plain".to_owned(),
        main if is_token(main) && is_token(&sub) => format!("{main}/{sub}"),
        _ => "application/octet-stream".to_owned(),
    }
}

fn is_attached(part: &ParsedPart) -> bool {
    part.disposition.as_ref().is_some_and(|d| d.c_type.trim().eq_ignore_ascii_case("attachment"))
}

fn given_name<'p>(part: &'p ParsedPart) -> Option<&'p str> {
    let disposition = part.disposition.as_ref();
    let content_type = part.content_type.as_ref();
    disposition
        .and_then(|d| parameter(d, "filename"))
        .or_else(|| content_type.and_then(|t| parameter(t, "name")))
        .filter(|name| !name.trim().is_empty())
}

fn attachment(part: &ParsedPart) -> MimeAttachment {
    let content_type = type_of(part);
    let inline = match &part.disposition {
        Some(d) => d.c_type.trim().eq_ignore_ascii_case("inline"),
        None => part.in_related || part.head.first("content-id").is_some(),
    };
    MimeAttachment {
        filename: file_name::clean(given_name(part), &content_type),
        content: decoded(part).into(),
        content_type,
        inline,
        content_id: content_id(part),
    }
}

fn content_id(part: &ParsedPart) -> Option<String> {
    let id = String::from_utf8_lossy(part.head.first("content-id")?);
    let id = id.trim().trim_start_matches('<').trim_end_matches('>').trim();
    let sound = !id.is_empty() && id.len() <= MAX_CONTENT_ID && !id.contains(char::is_control);
    sound.then(|| id.to_owned())
}

fn decoded(part: &ParsedPart) -> Vec<u8> {
    match part.head.word("content-transfer-encoding").as_deref() {
        Some("base64") => {
            // Stray bytes between the digits are not a reason to lose a file.
            let digits: Vec<u8> = part
                .body
                .iter()
                .copied()
                .filter(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
                .collect();
            base64_decode(&digits).unwrap_or(digits)
        }
        Some("quoted-printable") => without_quoted_printable(part.body),
        _ => part.body.to_vec(),
    }
}

/// Lenient: a `=` that encodes nothing stays what it is.
fn without_quoted_printable(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        at += 1;
        if byte != b'=' {
            out.push(byte);
            continue;
        }
        let hex = |at: usize| body.get(at).and_then(|b| char::from(*b).to_digit(16));
        if let (Some(high), Some(low)) = (hex(at), hex(at + 1)) {
            out.push((high * 16 + low) as u8);
            at += 2;
        } else if body[at..].starts_with(b"\r\n") {
            at += 2;
        } else if body[at..].starts_with(b"\n") {
            at += 1;
        } else {
            out.push(byte);
        }
    }
    out
}

fn decoded_text(part: &ParsedPart) -> String {
    let bytes = decoded(part);
    let charset = part
        .content_type
        .as_ref()
        .and_then(|t| parameter(t, "charset"))
        .map(|c| c.trim().to_ascii_lowercase())
        .unwrap_or_default();
    // Much mail that says nothing, or ASCII, is UTF-8; what is not UTF-8 is Windows-1252.
    let named = match charset.as_str() {
        "" | "us-ascii" | "ascii" | "utf-8" | "utf8" => None,
        other => charset_decoder(other.as_bytes()),
    };
    if let Some(decode) = named {
        return decode(&bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if charset.starts_with("utf") => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        Err(error) => match charset_decoder(b"windows-1252") {
            Some(decode) => decode(error.as_bytes()),
            None => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        },
    }
}

/// LF line ends, no controls but TAB and LF, no byte order marks, no blank lines around it.
fn clean_text(text: &str) -> String {
    trim_blank_lines(&text::lines(text).replace('\u{feff}', "")).to_owned()
}

/// The indent of the first line with words is the customer's own and stays.
fn trim_blank_lines(text: &str) -> &str {
    let is_nothing = |c: char| c.is_whitespace() || is_deceptive(c);
    let text = text.trim_end_matches(is_nothing);
    match text.find(|c: char| !is_nothing(c)) {
        Some(first) => &text[text[..first].rfind('\n').map_or(0, |at| at + 1)..],
        None => "",
    }
}
